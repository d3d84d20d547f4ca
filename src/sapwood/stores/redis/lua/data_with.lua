-- The versions of the data that a session sees and that have a text in them, with their positions, and
-- the state of the tree. ARGV: session, time, text.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local out = {}
local function take(s, first, last)
  local all = call('HGETALL', stem .. 'd:' .. s)
  for i = 1, #all, 2 do
    local d = tonumber(all[i])
    if first <= d and d <= last and string.find(all[i + 1], ARGV[3], 1, true) then
      out[#out + 1] = {s, d, all[i + 1]}
    end
  end
end
for _, n in ipairs(call('LRANGE', stem .. 'o:' .. row.home, 0, -1)) do take(tonumber(n), 1, MOST) end
each_span(row.fork_segment, row.fork_depth, take)
return {'ok', call('HMGET', KEYS[1], 'v', 'a'), out}
