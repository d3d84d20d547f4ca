-- The documents of a session: one, or those in a range, or all where their keys are in no order.
-- ARGV: session, time, key or '', range.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local key = stem .. 'k:' .. row.number
if ARGV[3] ~= '' then return {'ok', now, {ARGV[3], call('HGET', key, ARGV[3])}, ''} end
local found = documents_in(key, 4, now)
return {'ok', now, found or call('HGETALL', key), found and '' or 'all'}
