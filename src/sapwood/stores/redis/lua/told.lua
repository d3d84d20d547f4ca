-- Forget the changes of a tree that its owner was told of. ARGV: how many in all.
local told = tonumber(call('HGET', KEYS[1], 'fb') or '0')
local count = tonumber(ARGV[1]) - told
if count > 0 and call('EXISTS', KEYS[1]) == 1 then
  call('LTRIM', B .. 'f', count, -1)
  call('HSET', KEYS[1], 'fb', ARGV[1])
end
return 'ok'
