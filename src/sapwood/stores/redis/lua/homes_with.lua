-- Those of a tree's sessions that wrote a live message of an id. ARGV: time, id, sessions.
local now = ARGV[1] ~= '' and ARGV[1] or server_time()
local out = {}
for i = 3, #ARGV do
  local row = row_of(ARGV[i], now)
  local at = row and call('HGET', stem .. 'i:' .. row.home, ARGV[2])
  if at then
    local s, d = place_of(at)
    if is_live(entry(s, d)) then out[#out + 1] = ARGV[i] end
  end
end
return out
