-- Proves a session that holds or waits: its subscription is seen here, and its mark is removed. It says nothing about any lease,
-- so it prolongs an unbroken chain of proofs and starts none (R9).
--
-- ARGV: 1 the session. Answer: whether its subscription was seen, the time (µs).
local clock = redis.call('TIME')
local counts = redis.pcall('PUBSUB', 'NUMSUB', 'tenure:' .. ARGV[1])
local proved = 0
if not counts.err and counts[2] > 0 then
  proved = 1
  redis.call('DEL', 'tenure:suspect:' .. ARGV[1])
end
return { proved, string.format('%.0f', clock[1] * 1000000 + clock[2]) }
