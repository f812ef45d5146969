-- Makes sure that an owner has nothing: out of the queue, and if it has a lock, that is passed on. Releasing, leaving the queue
-- and cleaning up are one script, so that a grant in the same moment is never kept.
--
-- What frees memory comes first: then the rest passes although memory is full.
--
-- ARGV: 1 owner id, 2 whether marks of suspicion may be used ("1"). Answer: 1 if it had a lock, else 0.
local owner, marks, had = ARGV[1], ARGV[2] == '1', 0
drop(owner)
for i = 5, #KEYS, 2 do
  local value = call('GET', KEYS[i])
  if value == owner then
    call('DEL', KEYS[i])
    had = 1
  elseif value == SHARED and call('ZREM', READERS, owner) == 1 then
    call('HDEL', WAITERS, '+' .. owner)
    had = 1
    if readers() > 0 then
      local last = call('ZREVRANGE', READERS, 0, 0, 'WITHSCORES')[2]
      call('PEXPIRE', KEYS[i], whole(math.max(1, last - us / 1000))) -- no longer than the last of the others
    end
  end
  settle(KEYS[i], KEYS[i + 1], marks)
end
return had
