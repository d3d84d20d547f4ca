-- The documents of a session: one, or all. ARGV: session, time, key or ''.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local key = stem .. 'k:' .. row.number
if ARGV[3] ~= '' then return {'ok', now, {ARGV[3], call('HGET', key, ARGV[3])}} end
return {'ok', now, call('HGETALL', key)}
