-- What the model calls of a session cost. ARGV: session, time.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
return {'ok', call('HVALS', stem .. 'u:' .. row.number)}
