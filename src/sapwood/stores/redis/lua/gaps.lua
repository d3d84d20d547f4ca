-- The empty positions on the path to a leaf, from the leaf up, but for marks. ARGV: session, time, leaf, after.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local seg, depth = find_place(row, ARGV[3])
if not seg then return {'none'} end
local after, out = tonumber(ARGV[4]), {}
each_span(seg, depth, function(s, first, last)
  first = math.max(first, after + 1)
  local base, home = above(s) + 1, call('HGET', stem .. 'm', segment(s).home)
  while last >= first do
    local low = math.max(first, last - 255)
    local chunk = call('LRANGE', stem .. 'b:' .. s, low - base, last - base)
    for k = #chunk, 1, -1 do
      if not is_live(chunk[k]) and not is_mark(chunk[k]) then out[#out + 1] = {s, low + k - 1, home, chunk[k]} end
    end
    last = low - 1
  end
  return first == after + 1
end)
return {'ok', out}
