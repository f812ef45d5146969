-- The usual case of release.lua, in front of it and of what all scripts share: the owner has the lock, and nobody waits.
if #KEYS == 6 and redis.call('EXISTS', KEYS[1]) == 0 and redis.call('GET', KEYS[5]) == ARGV[1] then
  redis.call('DEL', KEYS[5])
  return 1
end
