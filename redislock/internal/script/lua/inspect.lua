-- Reads what is known of one name, and changes nothing. Keys as in common.lua.
--
-- ARGV: 1 how many waiters and readers at most. Answer: the value of the lock, what is left of it (ms), its state, the last time
-- that was to be remembered (µs), the readers as owner id, ms left, "number|since|about", and so on, the waiters as owner id,
-- record, and so on.
local most = tonumber(ARGV[1]) - 1
local now = us / 1000
local shares, queue = {}, {}
local value = redis.call('GET', KEYS[5]) or ''
if value == SHARED then
  local found = call('ZRANGE', READERS, 0, most, 'WITHSCORES')
  for i = 1, #found, 2 do
    local left = found[i + 1] - now
    if left > 0 then
      table.insert(shares, found[i])
      table.insert(shares, whole(left))
      table.insert(shares, call('HGET', WAITERS, '+' .. found[i]) or '')
    end
  end
end
for _, owner in ipairs(call('ZRANGE', QUEUE, 0, most)) do
  table.insert(queue, owner)
  table.insert(queue, call('HGET', WAITERS, owner) or '')
end
return { value, call('PTTL', KEYS[5]), call('GET', KEYS[6]) or '', call('GET', RAN) or '', shares, queue, whole(us) }
