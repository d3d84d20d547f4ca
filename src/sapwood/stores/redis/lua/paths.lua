-- What those scripts share that read paths, and what is shown of them.
local MOST = 9999999999

local function id_at(s, d)
  if s == 0 then return '' end
  local _, _, _, _, _, id = fields_of(entry(s, d))
  return id
end

-- What is taken out of a list moves all that comes after it. So the deepest entry that is read of a
-- segment tells, by the place that is kept with its id, whether none above it is missing.
local function refuse_missing(s, d, e)
  local _, _, _, _, _, id = fields_of(e)
  if call('HGET', stem .. 'i:' .. segment(s).home, id) ~= s .. ' ' .. d then
    error({err = 'SWCORRUPT a message of segment ' .. s .. ' at or above depth ' .. d .. ' is missing'})
  end
end

-- The version of the data that stands at a position itself: where the one before it stands, a line
-- feed, the value.
local function version_at(s, d)
  local found = call('HGET', stem .. 'd:' .. s, d)
  if not found then error({err = 'SWCORRUPT the data at ' .. s .. '.' .. d .. ' is not there'}) end
  return found
end

local function sees(row, s, d)
  return text(segment(s).home) == row.home or on_path(s, d, row.fork_segment, row.fork_depth)
end

local function overlay(number)
  local found = call('HGET', stem .. 'w', number)
  if not found then error({err = 'SWCORRUPT overlay ' .. number .. ' is not there'}) end
  local n = numbers(string.match(found, '^%d+ %d+ %d+ %d+ %d+'))
  return {number = number, first_segment = n[1], first = n[2], last_segment = n[3], last = n[4],
    tokens = n[5], id = string.match(found, '^%d+ %d+ %d+ %d+ %d+ (.*)$')}
end

-- Of the session's overlays that end in a span: the deepest, of these the widest, the newest.
local function deepest(row, s, first, last)
  local found = call('ZREVRANGEBYLEX', stem .. 'v:' .. row.number,
    string.format('(%012d%010d', s, last + 1), string.format('[%012d%010d', s, first),
    'LIMIT', 0, 1)
  return found[1] and overlay(string.sub(found[1], 33))
end

-- What a path shows, from the leaf up: fn(nil, segment, first, last) or fn(overlay).
local function each_piece(row, seg, depth, is_covered, fn)
  is_covered = is_covered and row.overlays > 0
  while seg > 0 do
    local next_seg, next_depth, stop = 0, 0, false
    each_span(seg, depth, function(s, first, last)
      local o = is_covered and deepest(row, s, first, last)
      if not o then stop = fn(nil, s, first, last) return stop end
      if o.last < last and fn(nil, s, o.last + 1, last) then stop = true return true end
      if fn(o) then stop = true return true end
      next_seg, next_depth = before(o.first_segment, o.first)
      return true
    end)
    if stop then return end
    seg, depth = next_seg, next_depth
  end
end

local edited = nil
local function deltas_in(s, first, last)
  if edited == nil then edited = call('HGET', KEYS[1], 'e') or false end
  if not edited then return 0 end
  local total, all = 0, call('HGETALL', stem .. 'e:' .. s)
  for i = 1, #all, 2 do
    local d = tonumber(all[i])
    if first <= d and d <= last then
      total = total + tonumber(string.match(all[i + 1], '^%d+ (%-?%d+)'))
    end
  end
  return total
end

local function span_tokens(s, first, last)
  return raw_at(s, last) - raw_at(before(s, first)) + deltas_in(s, first, last)
end

-- The live messages that a session pins, by depth; nil and a reason when they cannot be read.
local function pins_of(row, now)
  local stored = call('HGET', stem .. 'k:' .. row.number, 'pins')
  if not stored then return {} end
  local expires, value = string.match(stored, '^%d+ %d+ (%d*)[^\n]*\n(.*)$')
  if expires ~= '' and tonumber(expires) <= tonumber(now) then return {} end
  local went_well, ids = pcall(cjson.decode, value)
  if not went_well or type(ids) ~= 'table' or not string.match(value, '^%s*%[') then return nil end
  local found, known = {}, {}
  for i = 1, #ids do
    if type(ids[i]) ~= 'string' then return nil end
    local s, d = find_place(row, ids[i])
    if s and not known[s .. '.' .. d] then
      known[s .. '.' .. d] = true
      local e = entry(s, d)
      if is_live(e) then found[#found + 1] = {s, d, e} end
    end
  end
  table.sort(found, function(one, other) return one[2] < other[2] end)
  return found
end

-- Whether a sum that counts a session's pins is right for as long as nothing is changed.
local function holds(row, now)
  local stored = call('HGET', stem .. 'k:' .. row.number, 'pins')
  local expires = stored and string.match(stored, '^%d+ %d+ (%d+)')
  return not expires or tonumber(expires) <= tonumber(now)
end

local function pinned_under(o, pins)
  local found = {}
  for _, pin in ipairs(pins) do
    if pin[2] >= o.first and on_path(pin[1], pin[2], o.last_segment, o.last) then
      found[#found + 1] = pin
    end
  end
  return found
end

local function context_at(row, s, d, now)
  local total, pins = 0, nil
  each_piece(row, s, d, true, function(o, seg, first, last)
    if not o then total = total + span_tokens(seg, first, last) return end
    total = total + o.tokens
    pins = pins or pins_of(row, now) or {}
    for _, pin in ipairs(pinned_under(o, pins)) do
      total = total + tonumber((fields_of(pin[3])))
    end
  end)
  return total
end

-- Where a client finds the end of a session's path by itself: segment, depth, what is above, and
-- whether the session expires. Empty where more has to be known, or where the tip is no list's end.
local function plain_tip(row, overlays)
  local s, d, start, own = unpack(row.tip)
  if own ~= 1 or row.context == '' or (overlays == '1' and row.overlays > 0) then return '' end
  if call('LLEN', stem .. 'b:' .. s) ~= d - start then return '' end
  return s .. ' ' .. d .. ' ' .. start .. ' ' .. (row.expires ~= '' and 1 or 0)
end
