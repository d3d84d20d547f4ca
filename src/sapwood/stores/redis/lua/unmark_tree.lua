-- Take the mark off a tree, if it was not marked anew; with it goes what was noted of a tree that
-- is gone. ARGV: tree, deadline as it was, whether it is gone.
if call('ZSCORE', stem .. 'h', ARGV[1]) ~= ARGV[2] then return 0 end
call('ZREM', stem .. 'h', ARGV[1])
if ARGV[3] == '1' then call('HDEL', stem .. 'x', ARGV[1]) end
return 1
