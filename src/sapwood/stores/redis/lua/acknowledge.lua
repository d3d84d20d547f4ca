-- Let a tree forget the changes that stand in its owner's feed. ARGV: how many in all.
local known = tonumber(call('HGET', KEYS[1], 'fb') or '0')
local count = tonumber(ARGV[1]) - known
if count > 0 and call('EXISTS', KEYS[1]) == 1 then
  call('LTRIM', stem .. 'f', count, -1)
  call('HSET', KEYS[1], 'fb', ARGV[1])
end
return 'ok'
