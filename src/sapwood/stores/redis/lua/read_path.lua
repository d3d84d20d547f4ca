-- Read a path as it is shown, within limits, from one snapshot.
-- ARGV: session, time, words for the leaf, overlays, after, before, limit, most bytes, backwards,
-- whether only the sizes of bodies are wanted.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local seg, depth = row.tip[1] or 0, row.tip[2] or 0
local is_tip = ARGV[3] == ''
if ARGV[3] == 'r' then
  seg, depth = 0, 0
elseif ARGV[3] == 'm' then
  seg, depth = find_place(row, ARGV[4])
  if not seg then return {'none'} end
end
local after, last_before = tonumber(ARGV[6]), tonumber(ARGV[7])
local limit, most = tonumber(ARGV[8]), tonumber(ARGV[9])
local backwards = ARGV[10] == '1'
local is_limited = limit >= 0 or most >= 0
if limit < 0 then limit = MOST end
if most < 0 then most = math.huge end

local taken, size, more = 0, 0, false
local function admit(bytes)
  size = size + bytes
  if taken >= limit or (taken > 0 and size > most) then more = true return false end
  taken = taken + 1
  return true
end

local names = {}
local function named(s)
  local home = segment(s).home
  if names[home] == nil then names[home] = call('HGET', stem .. 'm', home) end
  return names[home]
end

local function body_size(e) return #e - string.find(e, '\n', 1, true) end

-- An entry as it is given: its body's size in place of the body, where only that is wanted.
local only_sizes = ARGV[11] == '1'
local function given(e)
  if not only_sizes or not is_live(e) then return e end
  return string.sub(e, 1, string.find(e, '\n', 1, true)) .. body_size(e)
end
local function all_given(entries)
  if only_sizes then
    for i = 1, #entries do entries[i] = given(entries[i]) end
  end
  return entries
end

local out, is_corrupt, pins = {}, false, nil
-- Whether some of it was deleted: a client that reads the list itself would have too little.
local has_gaps = false

-- Take entries of a span one by one until the limit is met; chunks, so that little is read in vain.
local function take_some(s, first, last)
  local base = above(s) + 1
  local got, lo, hi = {}, nil, nil
  local at = backwards and last or first
  local left = last - first + 1
  local is_full = false
  while left > 0 and not is_full do
    local n = math.min(left, limit - taken + 1, 256)
    local from = backwards and at - n + 1 or at
    local chunk = call('LRANGE', stem .. 'b:' .. s, from - base, from - base + n - 1)
    if #chunk < n then
      error({err = 'SWCORRUPT segment ' .. s .. ' is shorter than it should be'})
    end
    for i = 1, n do
      local k = backwards and n - i + 1 or i
      local e = chunk[k]
      local live = is_live(e)
      if live and not admit(body_size(e)) then is_full = true break end
      has_gaps = has_gaps or not live
      local d = from + k - 1
      got[d], lo, hi = e, math.min(lo or d, d), math.max(hi or d, d)
    end
    at = backwards and at - n or at + n
    left = left - n
  end
  if lo then
    refuse_missing(s, hi, got[hi])
    local entries = {}
    for d = lo, hi do entries[#entries + 1] = got[d] end
    out[#out + 1] = {0, s, lo, named(s), all_given(entries)}
  end
  return is_full
end

local function take_span(s, first, last)
  first, last = math.max(first, after + 1), math.min(last, last_before - 1)
  if first > last then return false end
  if is_limited then return take_some(s, first, last) end
  local base = above(s) + 1
  local entries = call('LRANGE', stem .. 'b:' .. s, first - base, last - base)
  if #entries ~= last - first + 1 then
    error({err = 'SWCORRUPT segment ' .. s .. ' is shorter than it should be'})
  end
  refuse_missing(s, last, entries[#entries])
  out[#out + 1] = {0, s, first, named(s), all_given(entries)}
  return false
end

local function take_overlay(o)
  if pins == nil then
    pins = pins_of(row, now)
    if not pins then is_corrupt = true return true end
  end
  if o.last <= after or o.first >= last_before then return false end
  local stored = call('HGET', stem .. 'y', o.number)
  local under = pinned_under(o, pins)
  local bytes = body_size(stored)
  for _, pin in ipairs(under) do bytes = bytes + body_size(pin[3]) end
  if not admit(bytes) then return true end
  local shown = {}
  for _, pin in ipairs(under) do
    shown[#shown + 1] = {pin[1], pin[2], named(pin[1]), given(pin[3])}
  end
  out[#out + 1] = {1, call('HGET', stem .. 'w', o.number), stored, shown}
  return false
end

local function take(o, s, first, last)
  if o then return take_overlay(o) end
  return take_span(s, first, last)
end

if backwards then
  each_piece(row, seg, depth, ARGV[5] == '1', take)
else
  local pieces = {}
  each_piece(row, seg, depth, ARGV[5] == '1', function(o, s, first, last)
    pieces[#pieces + 1] = {o or false, s, first, last}
    -- What lies above the window is not needed, nor is a summary there.
    return not o and first <= after + 1
  end)
  for i = #pieces, 1, -1 do
    if take(pieces[i][1] or nil, pieces[i][2], pieces[i][3], pieces[i][4]) then break end
  end
end
if is_corrupt then return {'pins'} end
local context = is_tip and row.context or ''
local is_worked_out = context == ''
if is_worked_out then context = text(context_at(row, seg, depth, now)) end
local leaf, data = row.tip_id, row.data
if not is_tip then
  leaf, data = id_at(seg, depth), select(2, raw_at(seg, depth))
end
local state = call('HMGET', KEYS[1], 'v', 'a')
return {'ok', state[1], state[2], leaf, row.tip_id, context, is_tip and is_worked_out and 1 or 0,
  more and 1 or 0, out, has_gaps and '' or plain_tip(row, ARGV[5]), data}
