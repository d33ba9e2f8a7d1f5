-- Ends one acquisition, or all of one owner's, on seats of one showing. What is not the owner's is left
-- alone, and does not keep the rest from being freed. Safe to run twice.
--
-- KEYS[1]  the showing's locks (hash)
-- ARGV[1]  owner (UUID, 36 characters)
-- ARGV[2]  id of the acquisition (digest, 22 characters), or '' for all of the owner's
-- ARGV[3…] seats
--
-- Result   {'released', token, seat…}  the seats named were not held by that acquisition
--
-- 1. Read the clock, the bookkeeping ('#') and the seats.
-- 2. Take the acquisition off each seat that is the owner's; a seat without any is free.
--    A lock past its deadline is no lock: it counts as not held, and its remains are removed.
-- 3. Write. The hash goes when nothing but the bookkeeping is left in it: the token goes on from the clock.

local owner, id = ARGV[1], ARGV[2]

-- 1
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local names = { '#' }
for i = 3, #ARGV do names[#names + 1] = ARGV[i] end
local values = redis.call('HMGET', KEYS[1], unpack(names))
local last = tonumber(string.match(values[1] or '', '^(%d+)|')) or 0

-- 2
local result, free, keep = { 'released', last }, {}, {}
for i = 2, #names do
  local value = values[i] or ''
  local deadline, ids = string.match(value, '^|(%d+)|(.*)$', 37)
  local own = deadline and string.sub(value, 1, 36) == owner
  local live = own and tonumber(deadline) > now
  local rest, found = nil, 0
  if live and id == '' then
    rest, found = '', 1
  elseif live then
    rest = {}
    for entry in string.gmatch(ids, '[^,]+') do
      if string.sub(entry, 1, #id + 1) == id .. '=' then
        found = 1
      else
        rest[#rest + 1] = entry
      end
    end
    rest = table.concat(rest, ',')
  end
  if found == 0 then result[#result + 1] = names[i] end
  if own and (not live or rest == '') then
    free[#free + 1] = names[i]
  elseif found == 1 then
    keep[#keep + 1] = names[i]
    keep[#keep + 1] = owner .. '|' .. deadline .. '|' .. rest
  end
end

-- 3
if #keep > 0 then redis.call('HSET', KEYS[1], unpack(keep)) end
if #free > 0 then
  redis.call('HDEL', KEYS[1], unpack(free))
  if redis.call('HLEN', KEYS[1]) == 1 and values[1] then redis.call('DEL', KEYS[1]) end
end
return result
