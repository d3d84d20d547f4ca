-- The ids of what only marks follow, from the tip up, the last of them the root's, which is empty, or
-- that of no mark. ARGV: session, time.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local seg, depth, out = row.tip[1] or 0, row.tip[2] or 0, {}
while seg > 0 and is_mark(entry(seg, depth)) do
  seg, depth = before(seg, depth)
  out[#out + 1] = id_at(seg, depth)
end
return {'ok', out}
