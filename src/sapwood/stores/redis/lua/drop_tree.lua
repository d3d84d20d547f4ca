-- Remove a tree that has no session and nothing left to publish, or that was never made whole.
if call('HLEN', stem .. 'm') > 0 or call('LLEN', stem .. 'f') > 0 then return 0 end
local all = call('HGETALL', stem .. 'g')
for i = 1, #all, 2 do
  local home = string.match(all[i + 1], '^%d+')
  call('UNLINK', stem .. 'b:' .. all[i], stem .. 'e:' .. all[i], stem .. 'd:' .. all[i],
    stem .. 'i:' .. home, stem .. 'o:' .. home)
end
for _, part in ipairs({'b:1', 'e:1', 'd:1', 'dm', 'i:1', 'g', 'c', 'm', 'w', 'y', 'q', 'wr', 'z', 'p',
  't'}) do
  call('UNLINK', stem .. part)
end
return 1
