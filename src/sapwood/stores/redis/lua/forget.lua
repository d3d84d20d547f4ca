-- Take a session out of the directory, if it stands there as given. ARGV: session, value.
if call('HGET', B .. 'd', ARGV[1]) ~= ARGV[2] then return 0 end
local number = string.match(ARGV[2], '^%S+ (%d+) ')
local member = string.format('%016d', number) .. ARGV[1]
call('HDEL', B .. 'd', ARGV[1])
call('ZREM', B .. 'la', member)
call('ZREM', B .. 'lc', member)
call('ZREM', B .. 'due', ARGV[1])
return 1
