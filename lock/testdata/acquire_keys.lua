-- The layout that lost: one key a seat. Does what acquire.lua does, for the benchmark that compares them.
--
-- KEYS[1]  the showing's last token; KEYS[2]  the whole showing's lock; KEYS[3…]  a key for each seat
-- ARGV[1]  owner; ARGV[2] id; ARGV[3] how long the lock lives (ms); ARGV[4] how many acquisitions a seat may
--          carry; ARGV[5…] for each seat the owner it may be taken from ('': from nobody)
--
-- Result   as acquire.lua
--
-- 1. Read the last token, the whole showing's lock and the seats' locks: absent means free.
-- 2. Refuse while someone else has the whole showing; judge each seat.
-- 3. Write each seat's key with its own TTL, and never a shorter one.
-- 4. Keep the token as long as the longest lock.

local owner, id, ttl, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

-- 1
local values = redis.call('MGET', unpack(KEYS))
local last = tonumber(values[1]) or 0

-- 2
local holder = values[2] and string.sub(values[2], 1, 36)
if holder and holder ~= owner then return { 'locked', last, holder } end
local taken, repeated, first = { 'taken', last }, true, nil
for i = 3, #KEYS do
  local value = values[i]
  local has = value and string.sub(value, 1, 36)
  if has == owner then
    local at = string.find(value, id .. '=', 1, true)
    if at then
      first = tonumber(string.match(value, '^%d+', at + #id + 1))
    else
      repeated = false
      local _, count = string.gsub(value, '=', '')
      if count >= most then return { 'nested', last, KEYS[i] } end
    end
  elseif not has or has == ARGV[i + 2] then
    repeated = false
    values[i] = false
  else
    taken[#taken + 1] = KEYS[i]
    taken[#taken + 1] = has
  end
end
if #taken > 2 then return taken end
local token = first
if not repeated or not token then
  local time = redis.call('TIME')
  token = math.max(last + 1, time[1] * 1000000 + time[2])
end

-- 3
for i = 3, #KEYS do
  local value, left = values[i], ttl
  if value then
    if not string.find(value, id .. '=', 1, true) then
      value = value .. ',' .. id .. '=' .. string.format('%.0f', token)
    end
    left = math.max(ttl, redis.call('PTTL', KEYS[i]))
  else
    value = owner .. '|' .. id .. '=' .. string.format('%.0f', token)
  end
  redis.call('SET', KEYS[i], value, 'PX', left)
end

-- 4
local left = math.max(ttl, redis.call('PTTL', KEYS[1]))
redis.call('SET', KEYS[1], string.format('%.0f', token), 'PX', left)
return { 'held', token }
