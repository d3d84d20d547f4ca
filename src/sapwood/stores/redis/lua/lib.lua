-- What all scripts share. Their keys are those of one tree, or of one owner: KEYS[1] is its `t`,
-- the others begin as it does. `docs/redis.md` says what each holds.
local call = redis.call
local B = string.sub(KEYS[1], 1, -2)
local CAP = 128 -- numbers in a lineage: 64 pairs of segment and depth
local MOST = 9999999999

-- Lua writes large numbers as 1.7e+15 unless it is told otherwise.
local function text(n) return string.format('%.0f', n) end

local function numbers(of)
  local out = {}
  for n in string.gmatch(of, '%d+') do out[#out + 1] = tonumber(n) end
  return out
end

local function words(of)
  local out = {}
  for word in string.gmatch(of .. '\31', '([^\31]*)\31') do out[#out + 1] = word end
  return out
end

local function server_time()
  local t = call('TIME')
  return t[1] .. string.format('%06d', t[2])
end

local segments = {}
local function segment(n)
  local known = segments[n]
  if not known then
    local found = call('HGET', B .. 'g', n)
    if not found then error({err = 'SWCORRUPT segment ' .. n .. ' is not there'}) end
    local all = numbers(found)
    known = {home = all[1], line = {}}
    for i = 2, #all do known.line[i - 1] = all[i] end
    segments[n] = known
  end
  return known
end

local function above(n) return segment(n).line[2] or 0 end

-- The spans of a path, from the leaf up, until `fn` says that it is enough.
local function each_span(seg, last, fn)
  if seg == 0 then return end
  while true do
    local line = segment(seg).line
    for i = 1, #line, 2 do
      if fn(seg, line[i + 1] + 1, last) then return end
      seg, last = line[i], line[i + 1]
    end
    if #line < CAP then fn(seg, 1, last) return end
  end
end

local function on_path(s, d, leaf_seg, leaf_depth)
  if leaf_seg == 0 or d > leaf_depth then return false end
  local found = false
  each_span(leaf_seg, leaf_depth, function(seg, first, last)
    if first <= d then found = seg == s and d <= last return true end
  end)
  return found
end

local function before(s, d)
  if d - 1 > above(s) then return s, d - 1 end
  local line = segment(s).line
  return line[1] or 0, line[2] or 0
end

local function entry(s, d)
  local found = call('LINDEX', B .. 'b:' .. s, d - above(s) - 1)
  if not found then error({err = 'SWCORRUPT position ' .. s .. '.' .. d .. ' is not there'}) end
  return found
end

-- An entry is: tokens, version, time, sum from the root, role, id; a line feed; the body.
local function fields_of(e)
  return string.match(e, '^(%d+)\31(%d+)\31(%d+)\31(%d+)\31([^\31]*)\31([^\n]*)\n')
end

local function raw_at(s, d)
  if s == 0 then return 0 end
  local _, _, _, raw = fields_of(entry(s, d))
  return tonumber(raw)
end

local function id_at(s, d)
  if s == 0 then return '' end
  local _, _, _, _, _, id = fields_of(entry(s, d))
  return id
end

local function is_live(e) return string.sub(e, -1) ~= '\n' end

local function place_of(at)
  local both = numbers(at or '')
  return both[1] or 0, both[2] or 0
end

local function row_of(id, now)
  local f = call('HMGET', B .. 's:' .. id, 'h', 'n', 'tip', 'ti', 'raw', 'c', 'inh', 'fk', 'ov', 'x')
  if not f[1] then return nil end
  if f[10] ~= '' and tonumber(now) >= tonumber(f[10]) then return nil end
  local row = {id = id, h = f[1], n = f[2], ti = f[4], raw = tonumber(f[5]), c = f[6],
    inh = f[7], ov = tonumber(f[9]), x = f[10]}
  row.tip = numbers(f[3])
  row.fs, row.fd = place_of(f[8])
  return row
end

-- Where a message stands that a session sees: its own, or one on the path to its fork point.
local function find_place(row, id)
  local at = call('HGET', B .. 'i:' .. row.h, id)
  if at then
    local s, d = place_of(at)
    return s, d
  end
  for home in string.gmatch(row.inh, '%d+') do
    at = call('HGET', B .. 'i:' .. home, id)
    if at then
      local s, d = place_of(at)
      if on_path(s, d, row.fs, row.fd) then return s, d end
    end
  end
  return nil
end

local function sees(row, s, d)
  return text(segment(s).home) == row.h or on_path(s, d, row.fs, row.fd)
end

local function overlay(number)
  local found = call('HGET', B .. 'w', number)
  if not found then error({err = 'SWCORRUPT overlay ' .. number .. ' is not there'}) end
  local n = numbers(string.match(found, '^%d+ %d+ %d+ %d+ %d+'))
  return {number = number, fs = n[1], fd = n[2], ls = n[3], ld = n[4], tokens = n[5],
    id = string.match(found, '^%d+ %d+ %d+ %d+ %d+ (.*)$')}
end

-- Of the session's overlays that end in a span: the deepest, of these the widest, the newest.
local function deepest(row, s, first, last)
  local found = call('ZREVRANGEBYLEX', B .. 'v:' .. row.n,
    string.format('(%012d%010d', s, last + 1), string.format('[%012d%010d', s, first),
    'LIMIT', 0, 1)
  return found[1] and overlay(string.sub(found[1], 33))
end

-- What a path shows, from the leaf up: fn(nil, segment, first, last) or fn(overlay).
local function each_piece(row, seg, depth, is_covered, fn)
  is_covered = is_covered and row.ov > 0
  while seg > 0 do
    local next_seg, next_depth, stop = 0, 0, false
    each_span(seg, depth, function(s, first, last)
      local o = is_covered and deepest(row, s, first, last)
      if not o then stop = fn(nil, s, first, last) return stop end
      if o.ld < last and fn(nil, s, o.ld + 1, last) then stop = true return true end
      if fn(o) then stop = true return true end
      next_seg, next_depth = before(o.fs, o.fd)
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
  local total, all = 0, call('HGETALL', B .. 'e:' .. s)
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
  local stored = call('HGET', B .. 'k:' .. row.n, 'pins')
  if not stored then return {} end
  local expires, value = string.match(stored, '^%d+ %d+ (%d*)\n(.*)$')
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

local function pinned_under(o, pins)
  local found = {}
  for _, pin in ipairs(pins) do
    if pin[2] >= o.fd and on_path(pin[1], pin[2], o.ls, o.ld) then found[#found + 1] = pin end
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
  if own ~= 1 or row.c == '' or (overlays == '1' and row.ov > 0) then return '' end
  if call('LLEN', B .. 'b:' .. s) ~= d - start then return '' end
  return s .. ' ' .. d .. ' ' .. start .. ' ' .. (row.x ~= '' and 1 or 0)
end
