-- The ends of a session's branches. ARGV: session, time.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local ends = {}
for _, n in ipairs(call('LRANGE', stem .. 'o:' .. row.home, 0, -1)) do
  local s = tonumber(n)
  ends[#ends + 1] = {s, above(s) + call('LLEN', stem .. 'b:' .. s)}
end
if row.fork_segment > 0 then ends[#ends + 1] = {row.fork_segment, row.fork_depth} end
table.sort(ends, function(one, other)
  return one[1] < other[1] or (one[1] == other[1] and one[2] < other[2])
end)
local function is_followed(s, d)
  if d < above(s) + call('LLEN', stem .. 'b:' .. s) and sees(row, s, d + 1) then return true end
  local prefix = string.format('%012d%010d', s, d)
  for _, member in ipairs(call('ZRANGEBYLEX', stem .. 'c', '[' .. prefix, '(' .. prefix .. '~')) do
    if sees(row, tonumber(string.sub(member, 23)), d + 1) then return true end
  end
  return false
end
local out = {}
for _, at in ipairs(ends) do
  local s, d = at[1], at[2]
  if not is_followed(s, d) then
    out[#out + 1] = {s, d, call('HGET', stem .. 'm', segment(s).home), entry(s, d)}
  end
end
return {'ok', out}
