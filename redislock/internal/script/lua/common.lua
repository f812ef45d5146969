-- What all scripts of the queue share; it is put in front of each of them.
--
-- Keys, of one name or of the slots of one group, all in one slot of a cluster:
--   KEYS[1]  queue    zset: owner ids in the order of their asking
--   KEYS[2]  waiters  hash: owner id → "ttl|interval|mode|since|about", "@" .. owner id → "asked|seen" and, of those who want
--                     one of some slots, "#" .. owner id → which, of those who wait;
--                     "+" .. owner id → "number|since|about", of those who share
--   KEYS[3]  readers  zset: owner ids of those who share, by the time (ms) at which each one's share ends
--   KEYS[4]  ran      the state of the last grant that was to be remembered
--   KEYS[5…] pairs    the lock itself, and its state "number|since|short|owner|about": of the last grant
--
-- The lock's value is an owner id, "tenure:SESSION:ACQUISITION:GRACE", or SHARED while readers have it, or another
-- program's. Times are the server's own; a lease ends with the expiry of the lock, or of the reader's share.
--
-- The rules that are named (R1 …) are those of proof/models, without which its checker finds two holders or a stranded name.

local QUEUE, WAITERS, READERS, RAN = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local SHARED = 'tenure:shared'
local KEEP = 86400000 -- ms that a state outlives its grant; the clock is the floor of numbers after that
local HIGHEST = 9007199254740991 -- Lua's numbers are exact up to here

local call, pcall = redis.call, redis.pcall
local clock = call('TIME')
local us = clock[1] * 1000000 + clock[2]

local function whole(n) return string.format('%.0f', n) end

local function session_of(owner) return string.match(owner, '^tenure:(%x+):%d+:%d+$') end

local function channel_of(session) return 'tenure:' .. session end

local function mark_of(session) return 'tenure:suspect:' .. session end

-- How many listen on a session's channel, as far as this node knows; nil where the user may not ask.
local function listeners(session)
  local counts = pcall('PUBSUB', 'NUMSUB', channel_of(session))
  if counts.err then return nil end
  return counts[2]
end

-- Says whether the asker's own subscription is seen here, and if so removes the mark of its session: a proof (R8, R9).
local function prove(session, marks)
  local count = listeners(session)
  if not count or count == 0 then return false end
  if marks then call('DEL', mark_of(session)) end
  return true
end

-- Has a key live for at least so long.
local function keep(key, ms)
  if call('PTTL', key) < ms then call('PEXPIRE', key, whole(ms)) end
end

local function drop(owner)
  call('ZREM', QUEUE, owner)
  call('HDEL', WAITERS, owner, '@' .. owner, '#' .. owner)
end

-- How a lock is written in the list of those that are wanted.
local function listed(lock) return #lock .. ':' .. lock .. ',' end

-- The first in the queue who wants a lock. Only slots are wanted by some and not by others; of these a bounded number is
-- looked at, and whoever comes later finds the slot by asking.
local function first_for(lock)
  for _, owner in ipairs(call('ZRANGE', QUEUE, 0, 99)) do
    local list = call('HGET', WAITERS, '#' .. owner)
    if not list or string.find(list, listed(lock), 1, true) then return owner end
  end
end

-- Removes readers whose shares have ended; says how many are left.
local function readers()
  for _, reader in ipairs(call('ZRANGEBYSCORE', READERS, '-inf', whole(us / 1000))) do
    call('ZREM', READERS, reader)
    call('HDEL', WAITERS, '+' .. reader)
  end
  return call('ZCARD', READERS)
end

-- Numbers a grant, and makes it. The number is above the last one and no lower than the clock, which is the floor when a
-- crash or a failover has lost the last one.
local function give(lock, state, owner, mode, ms, short, about)
  local last = tonumber(string.match(call('GET', state) or '', '^(%d+)|'))
  local number = us
  if last and last >= number then number = last + 1 end
  if number > HIGHEST then error('TENURE the grants of ' .. lock .. ' have numbers above ' .. whole(HIGHEST)) end
  if mode == 's' then
    if call('GET', lock) ~= SHARED then call('DEL', READERS) end -- left behind where another program removed the lock
    if call('PTTL', lock) < ms then call('SET', lock, SHARED, 'PX', whole(ms)) end
    call('ZADD', READERS, whole(us / 1000 + ms), owner)
    call('HSET', WAITERS, '+' .. owner, whole(number) .. '|' .. whole(us) .. '|' .. about)
    keep(READERS, ms)
    keep(WAITERS, ms)
  else
    call('SET', lock, owner, 'PX', whole(ms))
  end
  call('SET', state, whole(number) .. '|' .. whole(us) .. '|' .. (short and '1' or '0') .. '|' .. owner .. '|' .. about, 'PX', KEEP)
  return number
end

-- Passes a lock that is free on to the first waiter who can take it, and with a reader to the readers behind it; with mode "s",
-- while readers have it, to readers only. Waiters who cannot take it are dropped: a live one hears "neither" at its next
-- question, and joins again.
--
-- R1: count first, publish once. A count of zero proves nothing about a message that travels to other nodes.
local function hand_on(lock, state, mode)
  while true do
    local head = first_for(lock)
    if not head then return end
    local session, able, sure = session_of(head), false, false
    local ttl, interval, wanted, about, asked, seen
    local kept = call('HMGET', WAITERS, head, '@' .. head)
    if session and kept[1] and kept[2] then
      ttl, interval, wanted, about = string.match(kept[1], '^(%d+)|(%d+)|(%a)|%d+|(.*)$')
      asked, seen = string.match(kept[2], '^(%d+)|(%d)$')
      if us - asked <= 2000 * interval then
        local count = listeners(session)
        sure = seen == '1' and count and count > 0
        able = sure or seen == '0' or not count
      end
    end
    if able and mode == 's' and wanted ~= 's' then return end
    drop(head)
    if able then
      -- Where its subscription is not seen here, nothing rests on counts: it gets the lock for as long as it takes to ask.
      local ms = tonumber(ttl)
      if not sure then ms = math.min(ms, 2 * interval) end
      local number = give(lock, state, head, wanted, ms, not sure, about)
      local acq = string.match(head, ':(%d+):%d+$')
      -- A user may not be allowed to publish; the waiter asks by itself.
      pcall('PUBLISH', channel_of(session), acq .. '|' .. whole(number) .. '|' .. (sure and 'yours' or 'ask') .. '|' .. whole(us) .. '|' .. lock)
      if wanted ~= 's' then return end
      mode = wanted
    end
  end
end

-- The identity of this server's present reign: run_id does not change at a promotion, and a mark is replicated (R7).
local function identity()
  local server, replication = pcall('INFO', 'server'), pcall('INFO', 'replication')
  if type(server) ~= 'string' or type(replication) ~= 'string' then return nil end
  local run, reign = string.match(server, 'run_id:(%x+)'), string.match(replication, 'master_replid:(%x+)')
  return run and reign and run .. reign
end

-- Says whether an owner's session has not listened for the grace that is written in its owner id (R10). The first to see that
-- nobody listens leaves a mark, which the session removes when it proves itself.
local function crashed(owner, marks)
  local session, grace = string.match(owner, '^tenure:(%x+):%d+:(%d+)$')
  if not marks or not session or grace == '0' or listeners(session) ~= 0 then return false end
  local here = identity()
  if not here then return false end
  local of, since = string.match(call('GET', mark_of(session)) or '', '^(%x+)|(%d+)$')
  if of ~= here then
    call('SET', mark_of(session), here .. '|' .. whole(us), 'PX', whole(4 * grace + 60000))
    return false
  end
  return us - since >= 1000 * grace
end

-- Frees a lock that nobody has any more, and hands a free one on: whoever acquires comes after those who wait (R3), and every
-- question drives the queue (R4).
local function settle(lock, state, marks)
  local value = call('GET', lock)
  if value == SHARED then
    for _, reader in ipairs(call('ZRANGE', READERS, 0, 9)) do
      if crashed(reader, marks) then call('ZREM', READERS, reader) end
    end
    if readers() > 0 then return hand_on(lock, state, 's') end
    call('DEL', lock)
  elseif value then
    if not crashed(value, marks) then return end
    call('DEL', lock)
  end
  hand_on(lock, state)
end

-- What an owner has: the index of its lock, its number, since when, and whether the lock got its full expiry just now: one that
-- was handed on for a moment does, before it is said to be the asker's.
local function mine(owner, ttl)
  for i = 5, #KEYS, 2 do
    local value = call('GET', KEYS[i])
    if value == owner then
      local state = call('GET', KEYS[i + 1]) or ''
      local number, since, short, last, about = string.match(state, '^(%d+)|(%d+)|(%d)|([^|]*)|(.*)$')
      if last ~= owner then number, since, about = '0', '0', '' end
      if short == '1' then
        since = whole(us) -- until now it was an offer
        call('PEXPIRE', KEYS[i], ttl)
        call('SET', KEYS[i + 1], number .. '|' .. since .. '|0|' .. owner .. '|' .. about, 'PX', KEEP)
      end
      return (i - 5) / 2, number, since, short == '1' and 1 or 0
    elseif value == SHARED and call('ZSCORE', READERS, owner) then
      local number, since = string.match(call('HGET', WAITERS, '+' .. owner) or '', '^(%d+)|(%d+)|')
      return (i - 5) / 2, number or '0', since or '0', 0
    end
  end
end

-- Who has the lock that will be free first: its value, what is left of it (ms; -1: no end), its state.
local function holder()
  local value, left, state = '', -2, ''
  for i = 5, #KEYS, 2 do
    local ms = call('PTTL', KEYS[i])
    if ms ~= -2 and (left == -2 or ms >= 0 and ms < left or left == -1) then
      left, value, state = ms, call('GET', KEYS[i]) or '', call('GET', KEYS[i + 1]) or ''
    end
  end
  if value == SHARED then value = call('ZRANGE', READERS, 0, 0)[1] or SHARED end
  return value, left, state
end
