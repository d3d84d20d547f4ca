-- What all scripts share. Their keys are those of one tree, or of one owner: KEYS[1] is its `t`,
-- the others begin as it does. `docs/redis-scripts.md` says what each holds, with its fields.
-- A place is named by two words: nothing for the tip, 'r' for the root, 'm' and a message's id.
local call = redis.call
local stem = string.sub(KEYS[1], 1, -2)
local CAP = 128 -- numbers in a lineage: 64 pairs of segment and depth

-- Lua writes large numbers as 1.7e+15 unless it is told otherwise.
local function text(n) return string.format('%.0f', n) end

local function numbers(of)
  local out = {}
  for n in string.gmatch(of, '%d+') do out[#out + 1] = tonumber(n) end
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
    local found = call('HGET', stem .. 'g', n)
    if not found then error({err = 'SWCORRUPT segment ' .. n .. ' is not there'}) end
    local all = numbers(found)
    known = {home = all[1], line = {}}
    for i = 2, #all do known.line[i - 1] = all[i] end
    segments[n] = known
  end
  return known
end

local function above(n) return segment(n).line[2] or 0 end

-- The spans of a path, from the leaf up, until `fn` says that it is enough: segment, first, last.
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

local function entry(s, d)
  local found = call('LINDEX', stem .. 'b:' .. s, d - above(s) - 1)
  if not found then error({err = 'SWCORRUPT position ' .. s .. '.' .. d .. ' is not there'}) end
  return found
end

-- An entry is: tokens, version, time, sum from the root, role, id; a line feed; the body. After the
-- sum may stand where the data is that holds there, which comes last here.
local function fields_of(e)
  local tokens, version, created, raw, data, role, id =
    string.match(e, '^(%d+)\31(%d+)\31(%d+)\31(%d+) ?([%d ]*)\31([^\31]*)\31([^\n]*)\n')
  return tokens, version, created, raw, role, id, data
end

local function is_live(e) return string.sub(e, -1) ~= '\n' end

local function is_mark(e)
  if is_live(e) then return false end
  local _, _, _, _, role = fields_of(e)
  return role == 'mark'
end

-- The sum from the root at a position, and where the data is that holds there.
local function raw_at(s, d)
  if s == 0 then return 0, '' end
  local _, _, _, raw, _, _, data = fields_of(entry(s, d))
  return tonumber(raw), data
end

local function before(s, d)
  if d - 1 > above(s) then return s, d - 1 end
  local line = segment(s).line
  return line[1] or 0, line[2] or 0
end

local function place_of(at)
  local both = numbers(at or '')
  return both[1] or 0, both[2] or 0
end

local function row_of(id, now)
  local f = call('HMGET', stem .. 's:' .. id, 'h', 'n', 'tip', 'ti', 'raw', 'c', 'inh', 'fk', 'ov', 'x', 'da')
  if not f[1] then return nil end
  if f[10] ~= '' and tonumber(now) >= tonumber(f[10]) then return nil end
  local row = {id = id, home = f[1], number = f[2], tip_id = f[4], raw = tonumber(f[5]),
    context = f[6], inherited = f[7], overlays = tonumber(f[9]), expires = f[10],
    data = f[11] or ''}
  row.tip = numbers(f[3])
  row.fork_segment, row.fork_depth = place_of(f[8])
  return row
end

-- Where a message stands that a session sees: its own, or one on the path to its fork point.
local function find_place(row, id)
  local at = call('HGET', stem .. 'i:' .. row.home, id)
  if at then
    local s, d = place_of(at)
    return s, d
  end
  for home in string.gmatch(row.inherited, '%d+') do
    at = call('HGET', stem .. 'i:' .. home, id)
    if at then
      local s, d = place_of(at)
      if on_path(s, d, row.fork_segment, row.fork_depth) then return s, d end
    end
  end
  return nil
end
