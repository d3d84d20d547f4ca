-- A session is listed and found no more. By its member of the listing.
local function unlist(member)
  for _, part in ipairs({'la', 'lu', 'lc'}) do call('ZREM', stem .. part, member) end
  for word in string.gmatch(call('HGET', stem .. 'ki', member) or '', '%S+') do
    call('ZREM', stem .. 'lk', word .. ' ' .. member)
  end
  call('HDEL', stem .. 'ki', member)
end
-- A session is found by these words, and by no others but its keys, which are digests.
local function find_by(member, words)
  local held = call('HGET', stem .. 'ki', member) or ''
  local now = {}
  for word in string.gmatch(words, '%S+') do
    now[#now + 1], now[word] = word, true
    call('ZADD', stem .. 'lk', 0, word .. ' ' .. member)
  end
  for word in string.gmatch(held, '%S+') do
    if string.find(word, '^%x+$') then
      now[#now + 1] = word
    elseif not now[word] then
      call('ZREM', stem .. 'lk', word .. ' ' .. member)
    end
  end
  local all = table.concat(now, ' ')
  if all ~= held then call('HSET', stem .. 'ki', member, all) end
end
