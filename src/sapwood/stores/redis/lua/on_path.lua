-- Which of some places are on a path. ARGV: segment and depth of its end, then those of each place.
local out = {}
for i = 3, #ARGV, 2 do
  local is_there = on_path(tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[1]), tonumber(ARGV[2]))
  out[#out + 1] = is_there and 1 or 0
end
return out
