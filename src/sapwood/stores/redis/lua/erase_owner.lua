-- Remove what an owner has outside of trees, once there is no tree left.
if call('HLEN', stem .. 'd') > 0 or call('ZCARD', stem .. 'h') > 0 then return 0 end
local PARTS = {'d', 'la', 'lc', 'lu', 'h', 'x', 'f', 'r', 'due', 'lk', 'ki', 'k:', 'ks:', 't'}
for _, part in ipairs(PARTS) do
  call('UNLINK', stem .. part)
end
return 1
