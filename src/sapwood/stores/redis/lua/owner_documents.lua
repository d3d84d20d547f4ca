-- A document of an owner, or all, with the owner's version. ARGV: time, key or ''.
local clock = server_time()
local now = ARGV[1] ~= '' and ARGV[1] or clock
local version = call('HGET', KEYS[1], 'v') or ''
local key = stem .. 'k:'
if ARGV[2] ~= '' then return {version, clock, now, {ARGV[2], call('HGET', key, ARGV[2])}} end
return {version, clock, now, call('HGETALL', key)}
