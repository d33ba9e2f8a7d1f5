-- Takes seats of one showing for one owner: all of them, or none. Safe to run twice for one id.
--
-- KEYS[1]  the showing's locks (hash)
-- ARGV[1]  owner (UUID, 36 characters)
-- ARGV[2]  id of the acquisition (digest, 22 characters)
-- ARGV[3]  how long the lock lives (ms)
-- ARGV[4]  how many acquisitions one seat may carry at most
-- ARGV[5…] pairs: a seat, and the owner it may be taken from ('': from nobody)
--
-- Result   {'held', token}                        every seat is the owner's
--          {'taken', token, seat, owner, …}       who has which of the seats; nothing was changed
--          {'locked', token, owner}               someone else has the whole showing; nothing was changed
--          {'nested', token, seat}                that seat carries too many acquisitions; nothing was changed
--
-- 1. Read the clock, the bookkeeping ('#'), the whole showing's lock ('*') and the wanted seats.
-- 2. Refuse while someone else has the whole showing.
-- 3. Judge each seat: free or past its deadline, the owner's already, its named holder's, or taken.
-- 4. Refuse when one is taken, or carries too many acquisitions.
-- 5. An acquisition that ran before keeps its token; a new one gets the next.
-- 6. Write the seats. A deadline moves only forward: a nested acquisition never cuts another short.
-- 7. Let the hash live as long as its longest lock.

local owner, id, ttl, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local function whole(number)
  return string.format('%.0f', number)
end

-- A live lock's owner, deadline and acquisitions; nothing for one that is absent, over or unreadable.
local function parse(value, now)
  if not value then return nil end
  local deadline, ids = string.match(value, '^|(%d+)|(.*)$', 37)
  deadline = tonumber(deadline)
  if not deadline or deadline <= now then return nil end
  return string.sub(value, 1, 36), deadline, ids
end

-- 1
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local names = { '#', '*' }
for i = 5, #ARGV, 2 do names[#names + 1] = ARGV[i] end
local values = redis.call('HMGET', KEYS[1], unpack(names))
local last, untilms = string.match(values[1] or '', '^(%d+)|(%d+)$')
last, untilms = tonumber(last) or 0, tonumber(untilms) or 0

-- 2
local holder = parse(values[2], now)
if holder and holder ~= owner then return { 'locked', last, holder } end

-- 3
local taken, mine, repeated, first = { 'taken', last }, {}, true, nil
for i = 3, #names do
  local from = ARGV[2 * i]
  local has, deadline, ids = parse(values[i], now)
  if has == owner then
    local at = string.find(ids, id .. '=', 1, true)
    if at then
      first = tonumber(string.match(ids, '^%d+', at + #id + 1))
    else
      repeated = false
      local _, count = string.gsub(ids, '=', '')
      if count >= most then return { 'nested', last, names[i] } end
    end
    mine[i] = { deadline, ids, at }
  elseif not has or has == from then
    repeated = false
  else
    taken[#taken + 1] = names[i]
    taken[#taken + 1] = has
  end
end

-- 4
if #taken > 2 then return taken end

-- 5
local token = first
if not repeated or not token then
  token = math.max(last + 1, time[1] * 1000000 + time[2])
  last = token
end

-- 6
local deadline, fields = now + ttl, {}
for i = 3, #names do
  local ends, ids = deadline, nil
  if mine[i] then
    ends, ids = math.max(deadline, mine[i][1]), mine[i][2]
    if not mine[i][3] then ids = ids .. ',' .. id .. '=' .. whole(token) end
  else
    ids = id .. '=' .. whole(token)
  end
  fields[#fields + 1] = names[i]
  fields[#fields + 1] = owner .. '|' .. whole(ends) .. '|' .. ids
end

-- 7
local longest = math.max(untilms, deadline)
fields[#fields + 1] = '#'
fields[#fields + 1] = whole(last) .. '|' .. whole(longest)
redis.call('HSET', KEYS[1], unpack(fields))
if longest > untilms then redis.call('PEXPIREAT', KEYS[1], whole(longest)) end
return { 'held', token }
