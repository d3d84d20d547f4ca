-- Trim an owner's feed: what is older than a time and every registered reader has passed. Readers that
-- are yet to see what is older than another time are lost, and forgotten. ARGV: both times.
local base = tonumber(call('HGET', KEYS[1], 'fb') or '0')
local passed = math.huge
local readers = call('HGETALL', stem .. 'r')
for i = 1, #readers, 2 do
  local cursor = tonumber(readers[i + 1])
  local unseen = call('LINDEX', stem .. 'f', math.max(cursor - base, 0))
  if unseen and tonumber(string.match(unseen, '(%d+)$')) < tonumber(ARGV[2]) then
    call('HDEL', stem .. 'r', readers[i])
  else
    passed = math.min(passed, cursor)
  end
end
local count = 0
for _, line in ipairs(call('LRANGE', stem .. 'f', 0, 999)) do
  local at = string.match(line, '(%d+)$')
  if tonumber(at) >= tonumber(ARGV[1]) or base + count + 1 > passed then break end
  count = count + 1
end
if count > 0 then
  call('LTRIM', stem .. 'f', count, -1)
  call('HSET', KEYS[1], 'fb', text(base + count))
end
return count
