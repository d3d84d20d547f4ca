-- Claim a session's name for a tree. ARGV: session, tree, what stands there now or '', patience,
-- time created or '', time, token, digest of the key or ''. Gives what stands there, or the number, the deadline and the time.
local clock = server_time()
local stands = call('HGET', stem .. 'd', ARGV[1])
-- The answer to a claim may have been lost.
if stands and string.match(stands, ' (%S+)$') == ARGV[7] then return {'ok', stands, clock} end
if (stands or '') ~= ARGV[3] then return {'taken', stands or '', clock} end
if stands then
  local number, deadline = string.match(stands, '^%S+ (%d+) (%d+)')
  -- Whoever claimed it may still be about to create the session.
  if tonumber(clock) <= tonumber(deadline) + tonumber(ARGV[4]) then return {'wait', stands, clock} end
  local member = string.format('%016d', number) .. ARGV[1]
  unlist(member)
end
local number = call('HINCRBY', KEYS[1], 's', 1)
-- From the first session on, all are published with what they are found by.
if number == 1 then call('HSET', KEYS[1], 'lk', 1) end
local deadline = text(tonumber(clock) + tonumber(ARGV[4]))
local value = ARGV[2] .. ' ' .. number .. ' ' .. deadline .. ' ' .. ARGV[7]
call('HSET', stem .. 'd', ARGV[1], value)
local member = string.format('%016d', number) .. ARGV[1]
local active = tonumber(ARGV[5] ~= '' and ARGV[5] or ARGV[6] ~= '' and ARGV[6] or clock)
call('ZADD', stem .. 'la', math.floor(active / 1000000), member)
call('ZADD', stem .. 'lu', math.floor(tonumber(clock) / 1000000), member)
call('ZADD', stem .. 'lc', 0, member)
if ARGV[8] ~= '' then
  call('HSET', stem .. 'ki', member, ARGV[8])
  call('ZADD', stem .. 'lk', 0, ARGV[8] .. ' ' .. member)
end
call('ZADD', stem .. 'h', 'GT', deadline, ARGV[2])
return {'ok', value, clock}
