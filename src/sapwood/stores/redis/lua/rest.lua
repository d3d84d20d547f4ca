-- Take the mark off a tree, if it was not marked anew; with it goes what was noted of a tree that
-- is gone. ARGV: tree, deadline as it was, whether it is gone.
if call('ZSCORE', B .. 'h', ARGV[1]) ~= ARGV[2] then return 0 end
call('ZREM', B .. 'h', ARGV[1])
if ARGV[3] == '1' then call('HDEL', B .. 'x', ARGV[1]) end
return 1
