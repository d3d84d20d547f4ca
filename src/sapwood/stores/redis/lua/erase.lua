-- Remove what an owner has outside of trees, once there is no tree left.
if call('HLEN', B .. 'd') > 0 or call('ZCARD', B .. 'h') > 0 then return 0 end
call('UNLINK', B .. 'd', B .. 'la', B .. 'lc', B .. 'h', B .. 'x', B .. 'f', B .. 'r', B .. 'due',
  B .. 'k:', KEYS[1])
return 1
