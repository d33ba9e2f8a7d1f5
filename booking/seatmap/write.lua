-- Writes one showing's snapshot, frees the locks of seats that their bookings no longer have, and
-- tells everyone, all in one step: so nobody sees a delta whose snapshot isn't there, and an old
-- leader that was stopped and goes on changes nothing and tells nobody.
--
-- KEYS[1]  the snapshot's hash
-- KEYS[2]  the hash of the showing's locks, in the same cluster slot; only when there are pairs
-- ARGV[1]  format      ARGV[2] epoch of the leader's term
-- ARGV[3]  round: how often this term has met another log; orders the writes of one term
-- ARGV[4]  log         ARGV[5] seq       ARGV[6] id of the event at seq
-- ARGV[7]  seats taken ARGV[8] next end of a hold, Unix ms, 0 for none
-- ARGV[9]  state       ARGV[10] time to live, ms
-- ARGV[11] delta's channel    ARGV[12] delta, '' for none
-- ARGV[13] bookings' channel  ARGV[14] bookings, '' for none
-- ARGV[15…] pairs: a seat's code, and the UUID of the booking that no longer has it
--
-- Result: 'ok'; 'epoch' when a later term has written; 'older' when an earlier term has written
-- something newer; 'odd' when this term's own snapshot says something newer, which it never wrote.
-- Only 'ok' has changed anything. Running twice is the same as once, but for the messages, which
-- their readers tell by seq.
--
-- 1. What isn't a hash, or has no epoch, counts as nothing.
-- 2. Refuse a lower epoch, and an older round of the same epoch.
-- 3. Refuse an older seq of the same log. A later round may go back: it has seen the log go back.
-- 4. Write, with the time to live.
-- 5. Free locks whose value begins with the booking's UUID; a lock that someone else has by now stays.
-- 6. Publish.

local key = KEYS[1]
local epoch, round, log, seq = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])

local kind = redis.call('TYPE', key).ok
if kind ~= 'hash' and kind ~= 'none' then
  redis.call('DEL', key)
end
local stored = redis.call('HMGET', key, 'epoch', 'round', 'log', 'seq')
local stored_epoch, stored_round = tonumber(stored[1]), tonumber(stored[2]) or 0
if stored_epoch then
  if stored_epoch > epoch or (stored_epoch == epoch and stored_round > round) then
    return 'epoch'
  end
  local same_term = stored_epoch == epoch and stored_round == round
  local ahead = stored[3] == log and (tonumber(stored[4]) or 0) > seq
  if same_term and (ahead or stored[3] ~= log) then
    return 'odd'
  end
  if ahead and round == 0 then
    return 'older'
  end
end

redis.call('HSET', key, 'format', ARGV[1], 'epoch', ARGV[2], 'round', ARGV[3], 'log', log, 'seq', ARGV[5],
  'event', ARGV[6], 'taken', ARGV[7], 'deadline', ARGV[8], 'state', ARGV[9])
redis.call('PEXPIRE', key, ARGV[10])

for i = 15, #ARGV, 2 do
  local held = redis.pcall('HGET', KEYS[2], ARGV[i])
  if type(held) == 'string' and string.sub(held, 1, 36) == ARGV[i + 1] then
    redis.call('HDEL', KEYS[2], ARGV[i])
  end
end

if ARGV[12] ~= '' then
  redis.call('PUBLISH', ARGV[11], ARGV[12])
end
if ARGV[14] ~= '' then
  redis.call('PUBLISH', ARGV[13], ARGV[14])
end
return 'ok'
