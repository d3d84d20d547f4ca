-- Append messages after the tip, or after a message; nothing is written before all is decided.
-- ARGV: what is asked (session, time, time to live, how long a mark holds, until when the tree is
-- marked, state of the tree when it was planned, how and parent, how and expected tip), then two for
-- each message: id, whether others may have used it, role, tokens, time; and its body.
local asked = words(ARGV[1])
local clock = server_time()
local now = asked[2] ~= '' and asked[2] or clock
local row = row_of(asked[1], now)
if not row then return 'gone' end
local deadline = asked[5]
if tonumber(clock) > tonumber(deadline) then
  if #KEYS < 2 then return 'mark' end
  deadline = text(tonumber(clock) + tonumber(asked[4]))
end
local state = call('HMGET', KEYS[1], 'v', 'a', 'e')
local is_planned = asked[6] ~= ''
if is_planned and asked[6] ~= state[1] .. ' ' .. state[2] then return 'moved' end

local count = (#ARGV - 1) / 2
local heads = {}
for i = 1, count do heads[i] = words(ARGV[2 * i]) end
local own_ids = B .. 'i:' .. row.h
if not is_planned then
  for i = 1, count do
    local id = heads[i][1]
    if call('HEXISTS', own_ids, id) == 1 then return 'plan' end
    if row.inh ~= '' and heads[i][2] == '1' and find_place(row, id) then return 'plan' end
  end
  if asked[9] ~= '' and row.ti ~= asked[10] then return 'plan' end
end

-- The parent: the tip, the root, one of the session's own messages, or a place that was planned.
local tip_seg, tip_depth = row.tip[1] or 0, row.tip[2] or 0
local seg, depth, is_own, start = tip_seg, tip_depth, row.tip[4] == 1, row.tip[3]
if asked[7] == 'r' then
  seg, depth = 0, 0
elseif asked[7] == 'm' then
  local at = call('HGET', own_ids, asked[8])
  if not at then return 'plan' end
  seg, depth = place_of(at)
  is_own, start = true, above(seg)
elseif asked[7] == 'p' then
  seg, depth = place_of(asked[8])
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
  local id, _, role, tokens, created = unpack(heads[i])
  total = total + tonumber(tokens)
  said = created ~= '' and created or now
  call('RPUSH', list, tokens .. '\0311\031' .. said .. '\031' .. text(raw + total) .. '\031'
    .. role .. '\031' .. id .. '\n' .. ARGV[2 * i + 1])
  call('HSET', own_ids, id, target .. ' ' .. (depth + i))
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
  'ti', heads[count][1], 'raw', text(raw + total), 'c', context, 'act', said)
if asked[3] ~= '' then call('HSET', key, 'x', text(tonumber(now) + tonumber(asked[3]))) end
call('HINCRBY', key, 'm', count)
call('RPUSH', B .. 'f', 'A ' .. target .. ' ' .. (depth + 1) .. ' ' .. count .. ' ' .. now)
call('HINCRBY', KEYS[1], 'a', 1)
if #KEYS > 1 and deadline ~= asked[5] then
  call('ZADD', KEYS[2], 'GT', deadline, string.match(KEYS[1], '{(.-)}'))
end
return table.concat({'ok', target, depth + 1, now, context, deadline}, '\31')
