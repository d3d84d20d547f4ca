-- Note that a tree is about to be written to. ARGV: tree, for how long. Gives until when.
local deadline = text(tonumber(server_time()) + tonumber(ARGV[2]))
call('ZADD', stem .. 'h', 'GT', deadline, ARGV[1])
return deadline
