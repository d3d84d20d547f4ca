-- Remove what an owner has outside of trees, once there is no tree left.
if call('HLEN', stem .. 'd') > 0 or call('ZCARD', stem .. 'h') > 0 then return 0 end
for _, part in ipairs({'d', 'la', 'lc', 'h', 'x', 'f', 'r', 'due', 'k:', 'ks:', 't'}) do
  call('UNLINK', stem .. part)
end
return 1
