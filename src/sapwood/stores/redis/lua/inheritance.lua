-- What a fork of a place takes: the homes on its path, and the overlays in force on it.
-- ARGV: number of the source, segment, depth, version of the tree; nothing when that has changed.
if call('HGET', KEYS[1], 'v') ~= ARGV[4] then return nil end
local seg, depth = tonumber(ARGV[2]), tonumber(ARGV[3])
local homes, known, overlays = {}, {}, {}
each_span(seg, depth, function(s)
  local home = text(segment(s).home)
  if not known[home] then known[home] = true homes[#homes + 1] = home end
end)
for _, member in ipairs(call('ZRANGE', stem .. 'v:' .. ARGV[1], 0, -1)) do
  local o = overlay(string.sub(member, 33))
  if on_path(o.last_segment, o.last, seg, depth) then overlays[#overlays + 1] = member end
end
local path = {}
each_span(seg, depth, function(s, first, last) path[#path + 1] = {s, first, last, above(s)} end)
return {homes, overlays, path}
