-- Asks what has become of somebody who waits. It never joins the queue (R2), and does not prolong a lease, other than one that
-- was handed on for a moment.
--
-- ARGV: 1 owner id, 2 TTL (ms), 3 whether marks of suspicion may be used ("1").
--
-- Answer: what, …, whether the asker's subscription was seen here and its mark removed (R8), the time (µs).
--   "yours",   number, index of the lock, since (µs), …, …, whether the TTL runs from now ("1")
--   "queued",  value of the lock, what is left of it (ms), how many are before
--   "neither"
local owner, ttl, marks = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local proved = prove(session_of(owner), marks) and 1 or 0
if call('HEXISTS', WAITERS, '@' .. owner) == 1 and call('ZSCORE', QUEUE, owner) then
  call('HSET', WAITERS, '@' .. owner, whole(us) .. '|' .. proved)
  keep(QUEUE, ttl)
  keep(WAITERS, ttl)
end
for i = 5, #KEYS, 2 do settle(KEYS[i], KEYS[i + 1], marks) end
local index, number, since, full = mine(owner, ttl)
if index then return { 'yours', number, index, since, proved, whole(us), full } end
local place = call('ZRANK', QUEUE, owner)
if not place then return { 'neither', '', 0, 0, proved, whole(us) } end
local value, left = holder()
return { 'queued', value, left, place, proved, whole(us) }
