-- Remove a tree that has no session and nothing left to tell, or that was never made whole.
if call('HLEN', B .. 'm') > 0 or call('LLEN', B .. 'f') > 0 then return 0 end
local all = call('HGETALL', B .. 'g')
for i = 1, #all, 2 do
  local home = string.match(all[i + 1], '^%d+')
  call('UNLINK', B .. 'b:' .. all[i], B .. 'e:' .. all[i], B .. 'i:' .. home, B .. 'o:' .. home)
end
call('UNLINK', B .. 'b:1', B .. 'e:1', B .. 'i:1', B .. 'g', B .. 'c', B .. 'm', B .. 'w', B .. 'y',
  B .. 'q', B .. 'wr', B .. 'z', B .. 'p', KEYS[1])
return 1
