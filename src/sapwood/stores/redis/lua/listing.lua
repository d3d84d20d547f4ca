-- A session is found by no key any more. By its member of the listing.
local function forget_keys(member)
  for digest in string.gmatch(call('HGET', stem .. 'ki', member) or '', '%x+') do
    call('ZREM', stem .. 'lk', digest .. ' ' .. member)
  end
  call('HDEL', stem .. 'ki', member)
end
