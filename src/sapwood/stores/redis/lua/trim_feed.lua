-- Trim an owner's feed: what is older than a time and every registered reader has passed.
-- ARGV: time.
local base = tonumber(call('HGET', KEYS[1], 'fb') or '0')
local passed = math.huge
for _, cursor in ipairs(call('HVALS', stem .. 'r')) do passed = math.min(passed, tonumber(cursor)) end
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
