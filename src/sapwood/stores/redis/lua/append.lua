-- Append messages, for one caller or for several that came together: after the tip of a session, or
-- after a message. Of what a caller asks for, nothing is written before all is decided.
-- KEYS: the tree of each caller; then, on one server, their owners' marks.
-- ARGV: what all share (how many callers, time, time to live, how long a mark holds); for each
-- caller, what is asked (number of messages, session, until when the tree is marked, which key has
-- the owner's marks, state of the tree when it was planned, words for the parent and for the expected
-- tip, 'd' where data comes with the last message and 'm' where that is a mark, which data is expected
-- ('r' for none, or where it stands), and of each message: whether others may have used its id, tokens,
-- time, and the digest that was given for it); then the messages, as they are stored from the role on,
-- and the data. Lua reads all of a text that it makes: bodies are joined once.
-- At the end may follow, of a caller who is alone, what comes along.
local CALLER_WORDS = '^' .. string.rep('([^\31]*)\31', 11) .. '()'
local MOST_WORDS = 1000 -- of one command
local callers, time, ttl, mark_holds = string.match(ARGV[1], '^(%d+)\31(%d*)\31(%d*)\31(%d+)$')
local clock = server_time()
local now = time ~= '' and time or clock

local function is_known(row, messages)
  local ids = {}
  for i = 1, #messages do ids[i] = messages[i].id end
  for i = 1, #ids, MOST_WORDS do
    local last = math.min(i + MOST_WORDS - 1, #ids)
    for _, at in ipairs(call('HMGET', row.ids, unpack(ids, i, last))) do
      if at then return true end
    end
  end
  if row.inherited == '' then return false end
  row.fork_segment, row.fork_depth = place_of(call('HGET', row.key, 'fk'))
  for _, message in ipairs(messages) do
    if message.is_foreign and find_place(row, message.id) then return true end
  end
  return false
end

-- The place that the messages follow: the tip, the root, one of the session's own messages, or one
-- that was planned. Gives its segment and depth, whether that is its own, and what is above.
local function place_after(row, how, parent)
  if how == 'r' then return 0, 0, false, 0 end
  if how == 'm' then
    local at = call('HGET', row.ids, parent)
    if not at then return nil end
    local s, d = place_of(at)
    return s, d, true, above(s)
  end
  if how == 'p' then
    local s, d = place_of(parent)
    return s, d, text(segment(s).home) == row.home, above(s)
  end
  return row.seg, row.depth, row.is_own, row.start
end

-- Whether no more than marks follow the place that is expected to be the tip.
local function only_marks_follow(row, how, id)
  local seg, depth, data = row.seg, row.depth, row.data
  while seg > 0 and data == seg .. ' ' .. depth and is_mark(entry(seg, depth)) do
    seg, depth = before(seg, depth)
    if seg == 0 then return how == 'r' end
    local _, _, _, _, _, above_id, above_data = fields_of(entry(seg, depth))
    if how == 'm' and above_id == id then return true end
    data = above_data
  end
  return false
end

-- What a new segment after a place is stored with: its home, and the path above it.
local function line_after(row, seg, depth)
  if seg == 0 then return row.home end
  local line = row.home .. ' ' .. seg .. ' ' .. depth
  local parents = segment(seg).line
  for i = 1, math.min(#parents, CAP - 2) do line = line .. ' ' .. parents[i] end
  return line
end

-- Lua joins numbers by a slower way, which is made for fractions.
local function whole(n) return string.format('%d', n) end

local function send(command, key, words)
  for i = 1, #words, MOST_WORDS do
    call(command, key, unpack(words, i, math.min(i + MOST_WORDS - 1, #words)))
  end
end

local function messages_of(at, of)
  local out = {}
  for foreign, tokens, created, digest in string.gmatch(of, '(1?) (%d+) (%d*) (%x*);') do
    local id = string.match(ARGV[at], '^[^\31]*\31([^\n]*)\n')
    out[#out + 1] = {id = id, is_foreign = foreign == '1', tokens = tokens, created = created,
      digest = digest}
    at = at + 1
  end
  return out
end

-- What comes along: which version the record is to have, how many fences and documents there are, and
-- whether the record is patched; of each fence, key and version; of each document, key, version that
-- it is to have, how it is written ('d': not at all; else how soon it expires, and whether it is the
-- session's own) and value; then the fields of the record, of which 'p.' names those inside of `p`.
local function along_at(at, row)
  local along = {key = stem .. 'k:' .. call('HGET', row.key, 'n'), fences = {}, documents = {},
    fields = {}, profile = {}}
  local expected, fences, documents, patches = string.match(ARGV[at], '^(%d*) (%d+) (%d+) (1?)$')
  along.expected, along.is_patch = expected, patches == '1'
  along.writes = along.is_patch or documents ~= '0'
  at = at + 1
  for i = 1, tonumber(fences) do
    along.fences[i] = {name = ARGV[at], version = ARGV[at + 1]}
    at = at + 2
  end
  for i = 1, tonumber(documents) do
    along.documents[i] =
      {name = ARGV[at], expected = ARGV[at + 1], how = ARGV[at + 2], value = ARGV[at + 3]}
    along.has_pins = along.has_pins or ARGV[at] == 'pins'
    at = at + 4
  end
  for i = at, #ARGV, 2 do
    local inside = string.match(ARGV[i], '^p%.(.+)$')
    if inside then along.profile[inside] = ARGV[i + 1] else along.fields[ARGV[i]] = ARGV[i + 1] end
  end
  return along
end

-- The version of a document if it is stored, and whether it is as good as not there.
local function document_at(key, name)
  local version, expires = string.match(call('HGET', key, name) or '', '^(%d+) %d+ (%d*)')
  return version, not version or (expires ~= '' and tonumber(expires) <= tonumber(now))
end

-- When the document was first put that one replaces, as it is written; an expired one is not there.
local function created_before(key, name)
  local updated, expires, rest = string.match(call('HGET', key, name) or '', '^%d+ (%d+) (%d*)([^\n]*)')
  if not updated or (expires ~= '' and tonumber(expires) <= tonumber(now)) then return '' end
  local created = string.match(rest, '^ (%d+)') or updated
  return created == now and '' or ' ' .. created
end

-- The JSON of what `p` has: texts, whole numbers, lists. Lua cannot tell more apart: that fails.
local function json(value)
  if type(value) == 'number' then assert(value % 1 == 0) return text(value) end
  if type(value) ~= 'table' then return cjson.encode(value) end
  assert(#value > 0)
  local out = {}
  for i = 1, #value do out[i] = json(value[i]) end
  return '[' .. table.concat(out, ',') .. ']'
end

local function with_fields(stored, fields)
  local out = {}
  for name, value in pairs(cjson.decode(stored)) do
    if not fields[name] then out[#out + 1] = cjson.encode(name) .. ':' .. json(value) end
  end
  for name, value in pairs(fields) do
    if value ~= '' then out[#out + 1] = cjson.encode(name) .. ':' .. value end
  end
  return '{' .. table.concat(out, ',') .. '}'
end

-- Whether all that comes along can be written: the guards hold, and nothing is beyond Lua.
local function can_come(along, row, version)
  if along.expected ~= '' and along.expected ~= version then return false end
  for _, it in ipairs(along.fences) do
    if document_at(along.key, it.name) ~= it.version then return false end
  end
  for _, it in ipairs(along.documents) do
    if it.expected ~= '' then
      local found, is_free = document_at(along.key, it.name)
      if found ~= it.expected and not (it.expected == '0' and is_free) then return false end
    end
  end
  if not next(along.profile) then return true end
  local went_well, profile = pcall(with_fields, call('HGET', row.key, 'p'), along.profile)
  along.fields.p = profile
  return went_well
end

-- Write what comes along; gives the versions that the record and the documents have then.
local function write_along(along, row, session, tree, version)
  if not along.writes then return version, '0' end
  if along.is_patch then
    version = whole(version + 1)
    along.fields.ver = version
    for name, value in pairs(along.fields) do call('HSET', row.key, name, value) end
    -- Where attributes were called data, they are replaced, too.
    if along.fields.attributes then call('HDEL', row.key, 'data') end
    call('RPUSH', stem .. 'f', 'C ' .. now .. '/' .. version .. ' ' .. session)
  end
  local written = text(call('HINCRBY', tree, 'v', 1))
  for _, it in ipairs(along.documents) do
    local expires, own = string.match(it.how, '^(%d*)(.*)$')
    if expires ~= '' then expires = text(tonumber(now) + tonumber(expires)) end
    if it.how == 'd' then
      drop_documents(along.key, it.name)
    else
      local head = written .. ' ' .. now .. ' ' .. expires .. created_before(along.key, it.name) .. own
      put_document(along.key, it.name, head .. '\n' .. it.value)
    end
  end
  return version, written
end

local function append(n, at, session, marked, owner, planned, how, parent, tip_how, tip, given, expected,
    of)
  local tree = KEYS[n]
  stem, segments = string.sub(tree, 1, -2), {}
  local key = stem .. 's:' .. session
  local f = call('HMGET', key, 'h', 'tip', 'ti', 'raw', 'c', 'inh', 'ov', 'x', 'm', 'ver', 'cr',
    'cl', 'da')
  if not f[1] or (f[8] ~= '' and tonumber(now) >= tonumber(f[8])) then return 'gone' end
  -- What was stored before it was closed is known to a plan.
  if f[12] and f[12] ~= '' then return 'plan' end
  local row = {key = key, home = f[1], ids = stem .. 'i:' .. f[1], inherited = f[6]}
  local seg, depth, start, own = string.match(f[2], '^(%d+) (%d+) (%d+) (%d)')
  row.seg, row.depth = tonumber(seg or 0), tonumber(depth or 0)
  row.start, row.is_own, row.data = tonumber(start or 0), own == '1', f[13] or ''
  local deadline = marked
  if tonumber(clock) > tonumber(marked) then
    if owner == '' then return 'mark' end
    deadline = text(tonumber(clock) + tonumber(mark_holds))
  end
  if planned ~= '' and planned ~= table.concat(call('HMGET', tree, 'v', 'a'), ' ') then
    return 'moved'
  end
  if tip_how ~= '' and planned == '' and f[3] ~= tip and not only_marks_follow(row, tip_how, tip) then
    return 'plan'
  end

  local messages = messages_of(at, of)
  local count = #messages
  -- One that is alone is looked for by the command that writes it down.
  local is_sole = count == 1 and (row.inherited == '' or not messages[1].is_foreign)
  if planned == '' and not is_sole and is_known(row, messages) then return 'plan' end
  local value, rest = given ~= '' and ARGV[at + count], at + count + (given ~= '' and 1 or 0)
  local along = callers == '1' and ARGV[rest] and along_at(rest, row)
  if along and not can_come(along, row, f[10]) then return 'plan' end
  local is_own
  seg, depth, is_own, start = place_after(row, how, parent)
  if not seg then return 'plan' end
  local follows = seg == row.seg and depth == row.depth
  local raw, data = tonumber(f[4]), row.data
  if not follows then raw, data = raw_at(seg, depth) end
  if expected ~= '' and planned == '' and expected ~= (data == '' and 'r' or data) then return 'plan' end
  local is_new = seg == 0 or not is_own or call('LLEN', stem .. 'b:' .. seg) ~= depth - start
  local line = is_new and line_after(row, seg, depth)
  if is_new then start = depth end
  local target = whole(is_new and tonumber(call('HGET', tree, 'n')) + 1 or seg)
  local first, is_marked = whole(depth + 1), given == 'm'
  local last = count == 1 and first or whole(depth + count)
  local data_at = value and target .. ' ' .. last or data

  -- From here on everything is written.
  if is_sole then
    local is_there = call('HSETNX', row.ids, messages[1].id, target .. ' ' .. first) == 0
    if is_there and planned == '' then return 'plan' end
  end
  local entries, places, sum, created = {}, {}, raw, now
  local inherited = data ~= '' and ' ' .. data .. '\031' or '\031'
  for i = 1, count do
    local message = messages[i]
    sum = sum + tonumber(message.tokens)
    created = message.created ~= '' and message.created or now
    entries[i] = message.tokens .. '\0311\031' .. created .. '\031' .. text(sum)
      .. (value and i == count and ' ' .. data_at .. '\031' or inherited) .. ARGV[at + i - 1]
    if not is_sole then
      places[2 * i - 1], places[2 * i] = message.id, target .. ' ' .. whole(depth + i)
    end
    if message.digest ~= '' then
      call('HSET', stem .. 'e:' .. target, whole(depth + i), '0 0 ' .. message.digest)
    end
  end
  send('RPUSH', stem .. 'b:' .. target, entries)
  send('HSET', row.ids, places)
  if value then call('HSET', stem .. 'd:' .. target, last, data .. '\n' .. value) end
  if is_marked then call('HINCRBY', stem .. 'dm', target, 1) end
  if is_new then
    call('HSET', tree, 'n', target)
    call('HSET', stem .. 'g', target, line)
    call('ZADD', stem .. 'c', 0, string.format('%012d%010d%012d', seg, depth, target))
    call('RPUSH', stem .. 'o:' .. row.home, target)
  end
  local total, context = text(sum), ''
  if follows and f[5] ~= '' then
    context = f[5] == f[4] and total or text(tonumber(f[5]) + sum - raw)
  elseif f[7] == '0' and not call('HGET', tree, 'e') then
    context = total
  end
  if along and along.has_pins then context = '' end
  local changes = {'tip', target .. ' ' .. last .. ' ' .. whole(start) .. ' 1',
    'ti', messages[count].id, 'raw', total, 'c', context, 'up', now}
  local function change(name, value)
    changes[#changes + 1], changes[#changes + 2] = name, value
  end
  -- A mark is no message, and no activity.
  if not is_marked then
    change('act', created)
    change('m', whole(f[9] + count))
    call('RPUSH', stem .. 'f', 'A ' .. target .. ' ' .. first .. ' ' .. count .. ' ' .. now)
  end
  if data_at ~= row.data then change('da', data_at) end
  -- Of the kinds of sessions only chats expire; theirs is the one that is not written.
  if ttl ~= '' and not string.find(call('HGET', key, 'p'), '"kind":', 1, true) then
    change('x', text(tonumber(now) + tonumber(ttl)))
  end
  call('HSET', key, unpack(changes))
  call('HINCRBY', tree, 'a', 1)
  if deadline ~= marked and owner ~= '' then
    call('ZADD', KEYS[tonumber(owner)], 'GT', deadline, string.match(tree, '{(.-)}'))
  end
  local answer = 'ok\31' .. target .. '\31' .. first .. '\31' .. now .. '\31' .. context .. '\31'
    .. deadline .. '\31' .. data .. '\31'
  if not along then return answer .. f[10] .. '\31' .. f[11] end
  local version, written = write_along(along, row, session, tree, f[10])
  return answer .. version .. '\31' .. f[11] .. '\31' .. written
end

local at = 2
local function next_caller(n)
  local words = ARGV[at]
  local count, session, marked, owner, planned, how, parent, tip_how, tip, given, expected, from =
    string.match(words, CALLER_WORDS)
  local first = at + 1
  at = first + tonumber(count) + (given ~= '' and 1 or 0)
  return append(n, first, session, marked, owner, planned, how, parent, tip_how, tip, given, expected,
    string.sub(words, from))
end

if callers == '1' then return next_caller(1) end
local answers = {}
for n = 1, tonumber(callers) do
  -- What is wrong with one shows when it is sent by itself; the others have nothing to do with it.
  local went_well, answer = pcall(next_caller, n)
  answers[n] = went_well and answer or 'failed'
end
return table.concat(answers, '\n')
