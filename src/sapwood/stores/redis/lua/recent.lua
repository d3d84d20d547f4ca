-- The ends of the paths to sessions' tips. ARGV: time, how many places are looked at, of how many
-- messages the bodies are given, the role that is passed over, a document's key or none, sessions.
local now = ARGV[1] ~= '' and ARGV[1] or server_time()
local places, most, passed = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local CHUNK = 8

local function end_of(row)
  local shown, empty, left = {}, {}, places
  each_span(row.tip[1] or 0, row.tip[2] or 0, function(s, first, last)
    local base, at, home = above(s) + 1, last, nil
    while at >= first and left > 0 do
      local from = math.max(first, at - math.min(left, CHUNK) + 1)
      local chunk = call('LRANGE', stem .. 'b:' .. s, from - base, at - base)
      if #chunk < at - from + 1 then
        error({err = 'SWCORRUPT segment ' .. s .. ' is shorter than it should be'})
      end
      if at == last then refuse_missing(s, last, chunk[#chunk]) end
      for k = #chunk, 1, -1 do
        local d, e = from + k - 1, chunk[k]
        local _, _, _, _, role = fields_of(e)
        if not is_live(e) then
          empty[#empty + 1] = d
        elseif role ~= passed and #shown < most then
          home = home or call('HGET', stem .. 'm', segment(s).home)
          shown[#shown + 1] = {s, d, home, e}
        end
      end
      left = left - #chunk
      at = from - 1
    end
    return left == 0
  end)
  return shown, empty
end

local out = {}
for i = 6, #ARGV do
  local row = row_of(ARGV[i], now)
  if not row then
    out[#out + 1] = {'gone'}
  else
    local shown, empty = end_of(row)
    local line = row.tip[1] and segment(row.tip[1]).line or {}
    local kept = ARGV[5] ~= '' and call('HGET', stem .. 'k:' .. row.number, ARGV[5])
    out[#out + 1] = {'ok', row.tip_id, row.tip[1] or 0, row.tip[2] or 0, line, #line < CAP and 1 or 0,
      shown, empty, kept or '', now}
  end
end
return out
