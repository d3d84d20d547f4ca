-- Look at a session before a unit of work: its record, its tree, and where messages stand.
-- ARGV: session, time, whether the sessions of the tree are asked for, ids.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local places = {}
for i = 4, #ARGV do
  local s, d = find_place(row, ARGV[i])
  if s then
    local e = entry(s, d)
    local ps, pd = before(s, d)
    local _, _, _, _, _, _, data = fields_of(e)
    places[#places + 1] = {s, d, above(s), text(segment(s).home),
      call('HGET', stem .. 'm', segment(s).home), e, id_at(ps, pd), call('HGET', stem .. 'e:' .. s, d),
      data == s .. ' ' .. d and version_at(s, d)}
  else
    places[#places + 1] = false
  end
end
local names = ARGV[3] == '1' and call('HGETALL', stem .. 'm') or {}
return {'ok', call('HMGET', KEYS[1], 'v', 'a', 'n', 'h', 'e'), now,
  call('HGETALL', stem .. 's:' .. row.id), names, places}
