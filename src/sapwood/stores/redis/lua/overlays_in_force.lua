-- The overlays in force for a session, oldest first: number, range and the rest of each.
-- ARGV: session, time.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local all = {}
for _, member in ipairs(call('ZRANGE', stem .. 'v:' .. row.number, 0, -1)) do
  all[#all + 1] = string.sub(member, 33)
end
table.sort(all)
local out = {}
for _, number in ipairs(all) do
  out[#out + 1] = {number, call('HGET', stem .. 'w', number), call('HGET', stem .. 'y', number)}
end
return {'ok', out}
