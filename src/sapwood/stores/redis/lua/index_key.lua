-- Let a session be found by a key, if it has its name. ARGV: session, member of the listing, digest.
local stands = call('HGET', stem .. 'd', ARGV[1])
local number = stands and string.match(stands, '^%S+ (%d+)')
if not number or string.format('%016d', number) ~= string.sub(ARGV[2], 1, 16) then return 0 end
local held = call('HGET', stem .. 'ki', ARGV[2]) or ''
if string.find(' ' .. held .. ' ', ' ' .. ARGV[3] .. ' ', 1, true) == nil then
  call('HSET', stem .. 'ki', ARGV[2], held == '' and ARGV[3] or held .. ' ' .. ARGV[3])
end
return call('ZADD', stem .. 'lk', 0, ARGV[3] .. ' ' .. ARGV[2])
