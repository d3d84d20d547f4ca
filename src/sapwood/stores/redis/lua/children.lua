-- The entries that a session sees right after a message. ARGV: session, time, words for the message.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local seg, depth = 0, 0
if ARGV[3] == 'm' then
  seg, depth = find_place(row, ARGV[4])
  if not seg then return {'none'} end
end
local prefix = string.format('%012d%010d', seg, depth)
local found = {}
for _, member in ipairs(call('ZRANGEBYLEX', stem .. 'c', '[' .. prefix, '(' .. prefix .. '~')) do
  found[#found + 1] = tonumber(string.sub(member, 23))
end
if seg > 0 and depth < above(seg) + call('LLEN', stem .. 'b:' .. seg) then found[#found + 1] = seg end
table.sort(found)
local out = {}
for _, s in ipairs(found) do
  if sees(row, s, depth + 1) then
    out[#out + 1] = {s, depth + 1, call('HGET', stem .. 'm', segment(s).home), entry(s, depth + 1)}
  end
end
return {'ok', out}
