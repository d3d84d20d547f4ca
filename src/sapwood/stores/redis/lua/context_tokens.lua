-- How many tokens a session shows at its tip. ARGV: session, time, whether to work it out anyway.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local context = row.context
if context == '' or ARGV[3] == '1' then
  context = text(context_at(row, row.tip[1] or 0, row.tip[2] or 0, now))
end
local state = call('HMGET', KEYS[1], 'v', 'a')
return {'ok', state[1], state[2], context, row.context == '' and holds(row, now) and 1 or 0}
