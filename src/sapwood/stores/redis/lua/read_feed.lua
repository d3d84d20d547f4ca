-- Read an owner's feed. ARGV: after, how many.
local base = tonumber(call('HGET', KEYS[1], 'fb') or '0')
local length = call('LLEN', stem .. 'f')
local start, count = math.max(tonumber(ARGV[1]) - base, 0), tonumber(ARGV[2])
local lines = count > 0 and call('LRANGE', stem .. 'f', start, start + count - 1) or {}
return {text(base), text(base + length), lines}
