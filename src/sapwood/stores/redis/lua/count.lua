-- Count what a tree has. ARGV: time.
local now = ARGV[1] ~= '' and ARGV[1] or server_time()
local sessions, messages, documents, in_force, overlays = 0, 0, 0, {}, 0
for _, id in ipairs(call('HVALS', B .. 'm')) do
  if row_of(id, now) then
    local f = call('HMGET', B .. 's:' .. id, 'm', 'n')
    sessions, messages = sessions + 1, messages + tonumber(f[1])
    for _, stored in ipairs(call('HVALS', B .. 'k:' .. f[2])) do
      local expires = string.match(stored, '^%d+ %d+ (%d*)\n')
      if expires == '' or tonumber(expires) > tonumber(now) then documents = documents + 1 end
    end
    for _, member in ipairs(call('ZRANGE', B .. 'v:' .. f[2], 0, -1)) do
      local number = string.sub(member, 33)
      if not in_force[number] then in_force[number] = true overlays = overlays + 1 end
    end
  end
end
return {sessions, messages, overlays, documents}
