-- Renews leases of one session, many at once, and proves the session: the proof prolongs an unbroken chain, and starts none
-- (R9). A renewal never creates.
--
-- KEYS: the locks. ARGV: 1 the session, 2 whether marks of suspicion may be used ("1"), then for each lock its owner id and TTL
-- (ms). Answer: a "1" or "0" for each lock, whether the session's subscription was seen, the time (µs).
local clock = redis.call('TIME')
local counts = redis.pcall('PUBSUB', 'NUMSUB', 'tenure:' .. ARGV[1])
local proved = 0
if not counts.err and counts[2] > 0 then
  proved = 1
  if ARGV[2] == '1' then redis.call('DEL', 'tenure:suspect:' .. ARGV[1]) end
end
local ours = {}
for i, lock in ipairs(KEYS) do
  if redis.call('GET', lock) == ARGV[2 * i + 1] then
    redis.call('PEXPIRE', lock, ARGV[2 * i + 2])
    ours[i] = '1'
  else
    ours[i] = '0'
  end
end
return { table.concat(ours), proved, string.format('%.0f', clock[1] * 1000000 + clock[2]) }
