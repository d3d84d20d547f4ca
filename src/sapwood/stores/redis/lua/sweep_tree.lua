-- Cut a piece off what retired sessions left: the newest of the segments that are nobody's, after
-- the deepest position that somebody stands on. ARGV: how many entries at most. 0 when all is done.
local found = call('ZREVRANGE', stem .. 'z', 0, 0)
if not found[1] then return 0 end
local s = tonumber(found[1])
call('HINCRBY', KEYS[1], 'v', 1)
if call('HEXISTS', stem .. 'g', s) == 0 or call('HEXISTS', stem .. 'm', segment(s).home) == 1 then
  call('ZREM', stem .. 'z', s)
  return 1
end
local base = above(s)
local kept, prefix = base, string.format('%012d', s)
local child = call('ZREVRANGEBYLEX', stem .. 'c', '(' .. prefix .. '~', '[' .. prefix, 'LIMIT', 0, 1)
if child[1] then kept = tonumber(string.sub(child[1], 13, 22)) end
for _, id in ipairs(call('HVALS', stem .. 'm')) do
  for _, at in ipairs(call('HMGET', stem .. 's:' .. id, 'tip', 'fk')) do
    local seg, depth = place_of(at)
    if seg == s then kept = math.max(kept, depth) end
  end
end
local key, home = stem .. 'b:' .. s, text(segment(s).home)
local length = call('LLEN', key)
local surplus = base + length - kept
local cut = math.min(surplus, tonumber(ARGV[1]))
if cut > 0 then
  for i, e in ipairs(call('LRANGE', key, -cut, -1)) do
    local d, _, _, _, _, _, id, data = base + length - cut + i, fields_of(e)
    call('HDEL', stem .. 'i:' .. home, id)
    call('HDEL', stem .. 'e:' .. s, d)
    if data == s .. ' ' .. d then call('HDEL', stem .. 'd:' .. s, d) end
    if is_mark(e) then call('HINCRBY', stem .. 'dm', s, -1) end
  end
  call('LTRIM', key, 0, -cut - 1)
end
if cut < surplus then return 1 end
call('ZREM', stem .. 'z', s)
if kept == base then
  local line = segment(s).line
  local parent, depth = line[1] or 0, line[2] or 0
  call('HDEL', stem .. 'g', s)
  call('UNLINK', stem .. 'e:' .. s, stem .. 'd:' .. s)
  call('HDEL', stem .. 'dm', s)
  call('ZREM', stem .. 'c', string.format('%012d%010d%012d', parent, depth, s))
  if parent > 0 then call('ZADD', stem .. 'z', parent, parent) end
end
return 1
