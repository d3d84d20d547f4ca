-- Keep a sum that was worked out, unless something has changed. ARGV: version, appends, key, sum.
local t = call('HMGET', KEYS[1], 'v', 'a')
if t[1] ~= ARGV[1] or t[2] ~= ARGV[2] then return 0 end
call('HSET', ARGV[3], 'c', ARGV[4])
return 1
