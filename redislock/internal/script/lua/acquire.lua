-- Asks for a lock, once for each owner id.
--
-- ARGV: 1 owner id, 2 TTL (ms), 3 mode ("x" or "s"), 4 whether to wait ("1"), 5 how often it will ask (ms), 6 whether marks of
-- suspicion may be used ("1"), 7 a description, 8 once in a period of (ms; "0": no matter), 9 not before so long after the last
-- time (ms; "0": at once), 10 whether the locks are slots, of which one is wanted ("1"). 8 and 9 are never asked for by those who
-- wait.
--
-- Answer: what, …, whether the asker's subscription was seen here and its mark removed (R8; -1: nobody looked), the time (µs).
--   "yours",  number, index of the lock, since (µs), …, …, whether the TTL runs from now ("1")
--   "queued" or "held", value of the lock, what is left of it (ms), its state, …, …, how many are before
--   "done",   last time (µs), …, the state of that grant
--   "early",  the same
local owner, ttl, mode, wait, interval, about = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[7]
local marks, once, gap = ARGV[6] == '1', tonumber(ARGV[8]), tonumber(ARGV[9])
local session = session_of(owner)
local proved = prove(session, marks) and 1 or 0

local remembers = once > 0 or gap > 0
if remembers then
  local state = call('GET', RAN) or ''
  local last = tonumber(string.match(state, '^%d+|(%d+)|') or '0')
  if once > 0 and last > 0 and math.floor(last / (1000 * once)) >= math.floor(us / (1000 * once)) then
    return { 'done', whole(last), 0, state, proved, whole(us) }
  end
  if gap > 0 and last > 0 and us < last + 1000 * gap then return { 'early', whole(last), 0, state, proved, whole(us) } end
end

local index, number, since, full = mine(owner, ttl) -- its request was executed before
if not index then
  for i = 5, #KEYS, 2 do settle(KEYS[i], KEYS[i + 1], marks) end
  for i = 5, #KEYS, 2 do
    local value = call('GET', KEYS[i])
    if not value or mode == 's' and value == SHARED and call('EXISTS', QUEUE) == 0 then
      index, since, full = (i - 5) / 2, whole(us), 1
      number = whole(give(KEYS[i], KEYS[i + 1], owner, mode, ttl, false, about))
      break
    end
  end
end
if index then
  if remembers then call('SET', RAN, call('GET', KEYS[6]), 'PX', whole(math.max(KEEP, 2 * once, 2 * gap))) end
  return { 'yours', number, index, since, proved, whole(us), full }
end

if wait == '1' then
  local last = call('ZREVRANGE', QUEUE, 0, 0, 'WITHSCORES')[2]
  if call('ZADD', QUEUE, 'NX', whole((last or 0) + 1), owner) == 1 then
    call('HSET', WAITERS, owner, whole(ttl) .. '|' .. whole(interval) .. '|' .. mode .. '|' .. whole(us) .. '|' .. about)
    if ARGV[10] == '1' then
      local list = {}
      for i = 5, #KEYS, 2 do list[#list + 1] = listed(KEYS[i]) end
      call('HSET', WAITERS, '#' .. owner, table.concat(list))
    end
  end
  call('HSET', WAITERS, '@' .. owner, whole(us) .. '|' .. proved)
  keep(QUEUE, ttl)
  keep(WAITERS, ttl)
end
local value, left, state = holder()
return { wait == '1' and 'queued' or 'held', value, left, state, proved, whole(us), call('ZRANK', QUEUE, owner) or 0 }
