-- The overlays of a tree that cover one of some places, oldest first. ARGV: segments and depths.
local numbers_of = call('HKEYS', stem .. 'w')
table.sort(numbers_of)
local out = {}
for _, number in ipairs(numbers_of) do
  local o = overlay(number)
  for i = 1, #ARGV, 2 do
    local s, d = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
    if o.first <= d and on_path(s, d, o.last_segment, o.last) then out[#out + 1] = o.id break end
  end
end
return out
