-- The entries that a session sees, by position: the path to its fork point, then its own segments.
-- ARGV: session, time, segment and depth of what was given last (none for all), how many live ones.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local up, spans = {}, {}
each_span(row.fork_segment, row.fork_depth, function(s, first, last)
  up[#up + 1] = {s, first, last}
end)
for i = #up, 1, -1 do spans[#spans + 1] = up[i] end
for _, n in ipairs(call('LRANGE', stem .. 'o:' .. row.home, 0, -1)) do spans[#spans + 1] = {tonumber(n)} end

local function ends(span)
  local s = span[1]
  local start = above(s)
  return span[2] or start + 1, span[3] or start + call('LLEN', stem .. 'b:' .. s)
end

local begin, depth = 1, 0
if ARGV[3] ~= '' then
  begin, depth = nil, tonumber(ARGV[4])
  for i, span in ipairs(spans) do
    if text(span[1]) == ARGV[3] then
      local first, last = ends(span)
      if first <= depth and depth <= last then begin = i end
      break
    end
  end
  if not begin then return {'none'} end
end

local left, out = tonumber(ARGV[5]), {}
for i = begin, #spans do
  local s = spans[i][1]
  local first, last = ends(spans[i])
  if i == begin then first = math.max(first, depth + 1) end
  local base, at, entries = above(s) + 1, first, {}
  while at <= last and left > 0 do
    local n = math.min(last - at + 1, left, 256)
    local chunk = call('LRANGE', stem .. 'b:' .. s, at - base, at - base + n - 1)
    if #chunk < n then
      error({err = 'SWCORRUPT segment ' .. s .. ' is shorter than it should be'})
    end
    for _, e in ipairs(chunk) do
      entries[#entries + 1] = e
      if is_live(e) then left = left - 1 end
    end
    at = at + n
  end
  if #entries > 0 then
    refuse_missing(s, at - 1, entries[#entries])
    out[#out + 1] = {s, first, call('HGET', stem .. 'm', segment(s).home), entries}
  end
  if left == 0 then break end
end
return {'ok', out}
