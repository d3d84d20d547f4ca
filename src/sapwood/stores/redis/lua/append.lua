-- Append messages after the tip, or after a message; nothing is written before all is decided.
-- ARGV: session, time, time to live, mark, deadline, state, how and parent, how and expected tip,
-- count, then for each: id, whether others may have used it, role, tokens, time, body.
local clock = server_time()
local now = ARGV[2] ~= '' and ARGV[2] or clock
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
local deadline = ARGV[5]
if tonumber(clock) > tonumber(deadline) then
  if #KEYS < 2 then return {'mark'} end
  deadline = text(tonumber(clock) + tonumber(ARGV[4]))
end
local state = call('HMGET', KEYS[1], 'v', 'a', 'e')
local is_planned = ARGV[6] ~= ''
if is_planned and ARGV[6] ~= state[1] .. ' ' .. state[2] then return {'moved'} end

local count = tonumber(ARGV[11])
local own_ids = B .. 'i:' .. row.h
if not is_planned then
  for i = 1, count do
    local id = ARGV[6 + 6 * i]
    if call('HEXISTS', own_ids, id) == 1 then return {'plan'} end
    if row.inh ~= '' and ARGV[7 + 6 * i] == '1' and find_place(row, id) then return {'plan'} end
  end
  if ARGV[9] ~= '' and row.ti ~= ARGV[10] then return {'plan'} end
end

-- The parent: the tip, the root, one of the session's own messages, or a place that was planned.
local tip_seg, tip_depth = row.tip[1] or 0, row.tip[2] or 0
local seg, depth, is_own, start = tip_seg, tip_depth, row.tip[4] == 1, row.tip[3]
if ARGV[7] == 'r' then
  seg, depth = 0, 0
elseif ARGV[7] == 'm' then
  local at = call('HGET', own_ids, ARGV[8])
  if not at then return {'plan'} end
  seg, depth = place_of(at)
  is_own, start = true, above(seg)
elseif ARGV[7] == 'p' then
  seg, depth = place_of(ARGV[8])
  is_own, start = text(segment(seg).home) == row.h, above(seg)
end
local follows = seg == tip_seg and depth == tip_depth
local raw = follows and row.raw or raw_at(seg, depth)
local is_new = seg == 0 or not is_own or call('LLEN', B .. 'b:' .. seg) ~= depth - start

local target, line = seg, nil
if is_new then
  target = tonumber(call('HGET', KEYS[1], 'n')) + 1
  line = row.h
  if seg > 0 then
    line = line .. ' ' .. seg .. ' ' .. depth
    local parents = segment(seg).line
    for i = 1, math.min(#parents, CAP - 2) do line = line .. ' ' .. parents[i] end
  end
  start = depth
end

-- From here on everything is written.
local list, total, said = B .. 'b:' .. target, 0, now
for i = 1, count do
  local at = 6 + 6 * i
  local tokens = ARGV[at + 3]
  total = total + tonumber(tokens)
  said = ARGV[at + 4] ~= '' and ARGV[at + 4] or now
  call('RPUSH', list, tokens .. '\0311\031' .. said .. '\031' .. text(raw + total) .. '\031'
    .. ARGV[at + 2] .. '\031' .. ARGV[at] .. '\n' .. ARGV[at + 5])
  call('HSET', own_ids, ARGV[at], target .. ' ' .. (depth + i))
end
if is_new then
  call('HSET', KEYS[1], 'n', target)
  call('HSET', B .. 'g', target, line)
  call('ZADD', B .. 'c', 0, string.format('%012d%010d%012d', seg, depth, target))
  call('RPUSH', B .. 'o:' .. row.h, target)
end
local context = ''
if follows and row.c ~= '' then
  context = text(tonumber(row.c) + total)
elseif row.ov == 0 and not state[3] then
  context = text(raw + total)
end
local key = B .. 's:' .. row.id
call('HSET', key, 'tip', target .. ' ' .. (depth + count) .. ' ' .. start .. ' 1',
  'ti', ARGV[6 + 6 * count], 'raw', text(raw + total), 'c', context, 'act', said)
if ARGV[3] ~= '' then call('HSET', key, 'x', text(tonumber(now) + tonumber(ARGV[3]))) end
call('HINCRBY', key, 'm', count)
call('RPUSH', B .. 'f', 'A ' .. target .. ' ' .. (depth + 1) .. ' ' .. count .. ' ' .. now)
call('HINCRBY', KEYS[1], 'a', 1)
if #KEYS > 1 and deadline ~= ARGV[5] then
  call('ZADD', KEYS[2], 'GT', deadline, string.match(KEYS[1], '{(.-)}'))
end
return {'ok', target, depth + 1, now, context, deadline}
