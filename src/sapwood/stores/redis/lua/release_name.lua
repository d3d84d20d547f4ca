-- Take a session out of the directory, if it stands there as given. ARGV: session, value.
if call('HGET', stem .. 'd', ARGV[1]) ~= ARGV[2] then return 0 end
local number = string.match(ARGV[2], '^%S+ (%d+) ')
local member = string.format('%016d', number) .. ARGV[1]
call('HDEL', stem .. 'd', ARGV[1])
unlist(member)
call('ZREM', stem .. 'due', ARGV[1])
return 1
