-- Sum spans, and find the latest edit on a path between two depths.
-- ARGV: version of the tree; segment and depth of its end, its first depth, then spans: segment,
-- first, last. Nothing when the version has changed.
if call('HGET', KEYS[1], 'v') ~= ARGV[1] then return nil end
local total, latest = 0, 0
for i = 5, #ARGV, 3 do
  total = total + span_tokens(tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]))
end
local start = tonumber(ARGV[4])
each_span(tonumber(ARGV[2]), tonumber(ARGV[3]), function(s, first, last)
  if last < start then return true end
  local all = call('HGETALL', stem .. 'e:' .. s)
  for i = 1, #all, 2 do
    local d = tonumber(all[i])
    if math.max(first, start) <= d and d <= last then
      latest = math.max(latest, tonumber(string.match(all[i + 1], '^%d+')))
    end
  end
end)
return {text(total), text(latest)}
