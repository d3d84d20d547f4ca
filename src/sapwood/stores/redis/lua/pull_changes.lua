-- What a tree has to publish: its changes that are not in the owner's feed yet, and of its sessions
-- when they were active, written to and expire, and what they are found by. ARGV: how many changes at
-- most.
local TITLE_BYTES = 80
local tree = string.match(KEYS[1], '{(.-)}')
local state = call('HMGET', KEYS[1], 'v', 'a', 'fb')
if not state[1] then return {'none'} end
local seq = tonumber(state[3] or '0')
local changes = {}
local names = {}
local function name_of(home)
  if names[home] == nil then names[home] = call('HGET', stem .. 'm', home) end
  return names[home]
end
local function add(kind, session, message, depth, s, version, at)
  changes[#changes + 1] = text(seq)
  changes[#changes + 1] =
    table.concat({kind, session, message, depth, s, tree, version, at}, '\31')
end
local log = call('LRANGE', stem .. 'f', 0, tonumber(ARGV[1]) - 1)
for _, line in ipairs(log) do
  seq = seq + 1
  local kind, rest = string.match(line, '^(%a) (.*)$')
  if kind == 'R' or kind == 'C' then
    -- Of a record; of one that was retired before this was kept, the version is not known.
    local at, version, session = string.match(rest, '^(%d+)/(%d+) (.*)$')
    if not at then at, session = string.match(rest, '^(%d+) (.*)$') end
    add(kind, session, '', '', '', version or '0', at)
  elseif kind == 'A' then
    local s, first, count, at = string.match(rest, '^(%d+) (%d+) (%d+) (%d+)$')
    s, first = tonumber(s), tonumber(first)
    -- What a session that is gone wrote may have been cut, with its segment.
    local known = call('HEXISTS', stem .. 'g', s) == 1 and name_of(segment(s).home)
    if known then
      local from = first - above(s) - 1
      for i, e in ipairs(call('LRANGE', stem .. 'b:' .. s, from, from + tonumber(count) - 1)) do
        local _, version, _, _, _, id = fields_of(e)
        add('A', known, id, first + i - 1, s, version, at)
      end
    end
  else
    local s, d, at, actor = string.match(rest, '^(%d+) (%d+) (%d+) (.*)$')
    s, d = tonumber(s), tonumber(d)
    if call('HEXISTS', stem .. 'g', s) == 1 and d <= above(s) + call('LLEN', stem .. 'b:' .. s) then
      local session = name_of(segment(s).home) or (kind == 'D' and actor)
      local _, version, _, _, _, id = fields_of(entry(s, d))
      if session then add(kind, session, id, d, s, version, at) end
    end
  end
end
local function hex(name)
  return (string.gsub(name, '.', function(c) return string.format('%02x', string.byte(c)) end))
end
-- By a state with the kind behind it, a kind, a title's beginning, tags: a letter before each.
local function found_by(stored)
  local went_well, profile = pcall(cjson.decode, stored)
  if not went_well then return '' end
  local kind, state = profile.kind or 'chat', profile.state or 'active'
  local words = {'s' .. hex(state .. '\0' .. kind), 'k' .. hex(kind)}
  if type(profile.title) == 'string' then
    words[3] = 't' .. hex(string.sub(profile.title, 1, TITLE_BYTES))
  end
  for _, tag in ipairs(profile.tags or {}) do words[#words + 1] = 'g' .. hex(tag) end
  return table.concat(words, ' ')
end
local sessions = {}
for _, id in ipairs(call('HVALS', stem .. 'm')) do
  local f = call('HMGET', stem .. 's:' .. id, 'n', 'act', 'x', 'up', 'cr', 'p')
  if f[1] then
    sessions[#sessions + 1] = string.format('%016d', f[1]) .. id
    sessions[#sessions + 1] = f[2]
    sessions[#sessions + 1] = f[3]
    -- Earlier versions did not keep when it was written to.
    local written = f[4] or text(math.max(tonumber(f[2]), tonumber(f[5])))
    sessions[#sessions + 1] = written
    sessions[#sessions + 1] = found_by(f[6])
  end
end
return {'ok', state[1], state[2] or '0', text(seq), #log < tonumber(ARGV[1]) and 0 or 1, changes,
  sessions, call('ZCARD', stem .. 'z'), call('HLEN', stem .. 'm')}
