-- Lengthens the locks of one owner on seats of one showing: all of them, or none. Never revives one
-- that is over, and never shortens one.
--
-- KEYS[1]  the showing's locks (hash)
-- ARGV[1]  owner (UUID, 36 characters)
-- ARGV[2]  how long the lock lives from now (ms)
-- ARGV[3…] seats
--
-- Result   {'held', token}         every seat is the owner's for at least that long
--          {'lost', token, seat…}  these are not the owner's; nothing was changed
--
-- 1. Read the clock, the bookkeeping ('#') and the seats.
-- 2. Judge: each seat must carry the owner's lock, not past its deadline.
-- 3. Write the seats and the bookkeeping with the next token.
-- 4. Let the hash live as long as its longest lock.

local owner, ttl = ARGV[1], tonumber(ARGV[2])

local function whole(number)
  return string.format('%.0f', number)
end

-- 1
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local names = { '#' }
for i = 3, #ARGV do names[#names + 1] = ARGV[i] end
local values = redis.call('HMGET', KEYS[1], unpack(names))
local last, untilms = string.match(values[1] or '', '^(%d+)|(%d+)$')
last, untilms = tonumber(last) or 0, tonumber(untilms) or 0

-- 2
local deadline, lost, fields = now + ttl, { 'lost', last }, {}
for i = 2, #names do
  local value = values[i] or ''
  local ends, ids = string.match(value, '^|(%d+)|(.*)$', 37)
  ends = tonumber(ends)
  if not ends or ends <= now or string.sub(value, 1, 36) ~= owner then
    lost[#lost + 1] = names[i]
  else
    fields[#fields + 1] = names[i]
    fields[#fields + 1] = owner .. '|' .. whole(math.max(ends, deadline)) .. '|' .. ids
  end
end
if #lost > 2 then return lost end

-- 3
local token = math.max(last + 1, time[1] * 1000000 + time[2])
local longest = math.max(untilms, deadline)
fields[#fields + 1] = '#'
fields[#fields + 1] = whole(token) .. '|' .. whole(longest)
redis.call('HSET', KEYS[1], unpack(fields))

-- 4
if longest > untilms then redis.call('PEXPIREAT', KEYS[1], whole(longest)) end
return { 'held', token }
