-- What a session is shown at a leaf, without any text. ARGV: session, time, words for the leaf.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local seg, depth = row.tip[1] or 0, row.tip[2] or 0
if ARGV[3] == 'm' then
  seg, depth = find_place(row, ARGV[4])
  if not seg then return {'none'} end
end
local out = {}
each_piece(row, seg, depth, true, function(o, s, first, last)
  if o then
    out[#out + 1] = {1, o.number, o.first_segment, o.first, o.last_segment, o.last,
      text(o.tokens), o.id}
  else
    out[#out + 1] = {0, s, first, last}
  end
end)
return {'ok', out}
