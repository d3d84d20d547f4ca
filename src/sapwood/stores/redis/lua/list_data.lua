-- The versions of the data at and above a position, the newest first.
-- ARGV: session, time, segment, depth, how many at most.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
if call('HEXISTS', stem .. 'g', ARGV[3]) == 0 then return {'none'} end
local s, d, most = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local is_there = above(s) < d and d <= above(s) + call('LLEN', stem .. 'b:' .. s)
if not is_there or not sees(row, s, d) then return {'none'} end
local _, at = raw_at(s, d)
local out = {}
while at ~= '' and #out < most do
  s, d = place_of(at)
  local stored, _, _, created, _, _, id = version_at(s, d), fields_of(entry(s, d))
  out[#out + 1] = {s, d, id, created, stored}
  at = string.match(stored, '^[^\n]*')
end
return {'ok', out}
