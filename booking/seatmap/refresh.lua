-- Gives one showing's snapshot as long to live as the leader's lease has left, and says whether it is
-- still what the leader wrote.
--
-- KEYS[1] the snapshot's hash
-- ARGV[1] format  ARGV[2] epoch  ARGV[3] log  ARGV[4] seq  ARGV[5] event at seq  ARGV[6] time to live, ms
--
-- Result: 'ok'; 'ahead' when it is of a newer seq; 'epoch' when a later term has written; 'behind' when
-- there is none, or one of another log or an older seq: it is to be written anew.
--
-- 1. What isn't a hash is nothing.
-- 2. Refuse a lower epoch.
-- 3. Compare with what should be there.
-- 4. Sign it with this term's epoch, so that an older term can't refresh it any more, and let it live.

local key = KEYS[1]
if redis.call('TYPE', key).ok ~= 'hash' then
  return 'behind'
end
local stored = redis.call('HMGET', key, 'format', 'epoch', 'log', 'seq', 'event')
local stored_epoch, stored_seq = tonumber(stored[2]), tonumber(stored[4])
if stored_epoch and stored_epoch > tonumber(ARGV[2]) then
  return 'epoch'
end
if not stored_epoch or not stored_seq or stored[1] ~= ARGV[1] or stored[3] ~= ARGV[3] then
  return 'behind'
end
local seq = tonumber(ARGV[4])
if stored_seq < seq or (stored_seq == seq and stored[5] ~= ARGV[5]) then
  return 'behind'
end
if stored_epoch < tonumber(ARGV[2]) then
  redis.call('HSET', key, 'epoch', ARGV[2], 'round', '0')
end
redis.call('PEXPIRE', key, ARGV[6])
if stored_seq > seq then
  return 'ahead'
end
return 'ok'
