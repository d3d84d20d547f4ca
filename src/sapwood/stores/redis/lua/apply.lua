-- Carry out commands if nothing has changed since the look: version, appends or '*', token, deadline,
-- then each command with the number of its words before it.
local t = call('HMGET', KEYS[1], 'v', 'a', 'last')
if t[3] == ARGV[3] then return 'ok' end
if (t[1] or '') ~= ARGV[1] then return 'moved' end
if ARGV[2] ~= '*' and (t[2] or '0') ~= ARGV[2] then return 'moved' end
if ARGV[4] ~= '' and tonumber(server_time()) > tonumber(ARGV[4]) then return 'late' end
local at = 5
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  call(unpack(ARGV, at + 1, at + count))
  at = at + count + 1
end
call('HINCRBY', KEYS[1], 'v', 1)
call('HSET', KEYS[1], 'last', ARGV[3])
return 'ok'
