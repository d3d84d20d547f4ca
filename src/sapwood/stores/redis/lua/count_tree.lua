-- Count what a tree has: sessions by kind and state, messages of chats and of homes that are gone,
-- overlays, documents. ARGV: time.
local now = ARGV[1] ~= '' and ARGV[1] or server_time()
local sessions, found, messages, documents, in_force, overlays = {}, {}, 0, 0, {}, 0
local gone, any_gone = {}, false
for _, id in ipairs(call('HVALS', stem .. 'm')) do
  local row = row_of(id, now)
  if row then
    for home in string.gmatch(row.inherited, '%d+') do
      if call('HEXISTS', stem .. 'm', home) == 0 then gone[home], any_gone = true, true end
    end
    local f = call('HMGET', stem .. 's:' .. id, 'm', 'n', 'p')
    local profile = cjson.decode(f[3])
    local kind, state = profile.kind or 'chat', profile.state or 'active'
    local name = kind .. '\n' .. state
    if not found[name] then
      found[name] = {kind, state, 0}
      sessions[#sessions + 1] = found[name]
    end
    found[name][3] = found[name][3] + 1
    if kind == 'chat' then messages = messages + tonumber(f[1]) end
    for _, stored in ipairs(call('HVALS', stem .. 'k:' .. f[2])) do
      local expires = string.match(stored, '^%d+ %d+ (%d*)')
      if expires == '' or tonumber(expires) > tonumber(now) then documents = documents + 1 end
    end
    for _, member in ipairs(call('ZRANGE', stem .. 'v:' .. f[2], 0, -1)) do
      local number = string.sub(member, 33)
      if not in_force[number] then in_force[number] = true overlays = overlays + 1 end
    end
  end
end
-- What sessions still see of homes that are gone: all that is not deleted, and no mark.
for _, s in ipairs(any_gone and call('HKEYS', stem .. 'g') or {}) do
  if gone[text(segment(s).home)] then
    messages = messages + call('LLEN', stem .. 'b:' .. s) - (call('HGET', stem .. 'dm', s) or 0)
    for _, edit in ipairs(call('HVALS', stem .. 'e:' .. s)) do
      if string.sub(edit, -2) == ' -' then messages = messages - 1 end
    end
  end
end
return {sessions, messages, overlays, documents}
