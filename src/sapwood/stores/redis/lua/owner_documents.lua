-- A document of an owner, or those in a range, or all where their keys are in no order; with the
-- owner's version. ARGV: time, key or '', range.
local clock = server_time()
local now = ARGV[1] ~= '' and ARGV[1] or clock
local version = call('HGET', KEYS[1], 'v') or ''
local key = stem .. 'k:'
if ARGV[2] ~= '' then return {version, clock, now, {ARGV[2], call('HGET', key, ARGV[2])}, ''} end
local found = documents_in(key, 3, now)
return {version, clock, now, found or call('HGETALL', key), found and '' or 'all'}
