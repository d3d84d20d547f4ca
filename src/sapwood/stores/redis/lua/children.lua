-- The entries that a session sees right after a message; marks are looked through.
-- ARGV: session, time, words for the message.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local seg, depth = 0, 0
if ARGV[3] == 'm' then
  seg, depth = find_place(row, ARGV[4])
  if not seg then return {'none'} end
end
local function followers(s, d)
  local prefix, found = string.format('%012d%010d', s, d), {}
  for _, member in ipairs(call('ZRANGEBYLEX', stem .. 'c', '[' .. prefix, '(' .. prefix .. '~')) do
    found[#found + 1] = tonumber(string.sub(member, 23))
  end
  if s > 0 and d < above(s) + call('LLEN', stem .. 'b:' .. s) then found[#found + 1] = s end
  return found
end
local left, out = {{seg, depth}}, {}
while #left > 0 do
  local s, d = unpack(table.remove(left))
  for _, next_seg in ipairs(followers(s, d)) do
    if sees(row, next_seg, d + 1) then
      local e = entry(next_seg, d + 1)
      if is_mark(e) then
        left[#left + 1] = {next_seg, d + 1}
      else
        out[#out + 1] = {next_seg, d + 1, call('HGET', stem .. 'm', segment(next_seg).home), e}
      end
    end
  end
end
table.sort(out, function(one, other)
  return one[1] < other[1] or (one[1] == other[1] and one[2] < other[2])
end)
return {'ok', out}
