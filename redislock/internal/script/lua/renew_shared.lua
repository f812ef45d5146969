-- Renews the share of one reader, which keeps nobody else's (the lock lives for as long as its last reader). Keys as in common.lua.
--
-- ARGV: 1 owner id, 2 TTL (ms), 3 whether marks of suspicion may be used ("1"). Answer as of renew.lua.
local owner, ttl = ARGV[1], tonumber(ARGV[2])
local proved = prove(session_of(owner), ARGV[3] == '1') and 1 or 0
local lock = KEYS[5]
if call('GET', lock) ~= SHARED or readers() == 0 or not call('ZSCORE', READERS, owner) then return { '0', proved, whole(us) } end
call('ZADD', READERS, whole(us / 1000 + ttl), owner)
keep(lock, ttl)
keep(READERS, ttl)
keep(WAITERS, ttl)
return { '1', proved, whole(us) }
