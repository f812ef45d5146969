-- The usual case of acquire.lua, in front of it and of what all scripts share, which then need not be set up: the name is free,
-- nobody waits, and an exclusive lock of that one name is wanted. Everything else falls through. ARGV and answer as there.
if #KEYS == 6 and ARGV[3] == 'x' and ARGV[8] == '0' and ARGV[9] == '0' and redis.call('EXISTS', KEYS[5], KEYS[1]) == 0 then
  local proved = -1 -- nobody looked
  if ARGV[6] == '1' then
    proved = 0
    local session = string.match(ARGV[1], '^tenure:(%x+):')
    local counts = redis.pcall('PUBSUB', 'NUMSUB', 'tenure:' .. session)
    if not counts.err and counts[2] > 0 then
      redis.call('DEL', 'tenure:suspect:' .. session)
      proved = 1
    end
  end
  local clock = redis.call('TIME')
  local us = clock[1] * 1000000 + clock[2]
  local number, last = us, tonumber(string.match(redis.call('GET', KEYS[6]) or '', '^(%d+)|'))
  if last and last >= number then number = last + 1 end
  if number <= 9007199254740991 then
    local now, text = string.format('%.0f', us), string.format('%.0f', number)
    redis.call('SET', KEYS[5], ARGV[1], 'PX', ARGV[2])
    redis.call('SET', KEYS[6], text .. '|' .. now .. '|0|' .. ARGV[1] .. '|' .. ARGV[7], 'PX', 86400000)
    return { 'yours', text, 0, now, proved, now, 1 }
  end
end
