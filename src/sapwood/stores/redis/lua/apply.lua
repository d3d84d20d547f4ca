-- Carry out commands if nothing has changed since the look: version; appends of the tree, or '*', or a
-- session and its tip; token, deadline, then each command with the number of its words before it.
-- Three are our own: documents have their keys in order beside them.
local OWN = {put = put_document, drop = drop_documents, order = order_keys}
local KEPT = 256 -- bytes of tokens: while an answer is lost, others may go on
local t = call('HMGET', KEYS[1], 'v', 'a', 'last')
local done = ' ' .. (t[3] or '') .. ' '
if string.find(done, ' ' .. ARGV[3] .. ' ', 1, true) then return 'ok' end
if (t[1] or '') ~= ARGV[1] then return 'moved' end
local session, tip = string.match(ARGV[2], '^([^\31]+)\31(.*)$')
if session then
  if call('HGET', stem .. 's:' .. session, 'ti') ~= tip then return 'moved' end
elseif ARGV[2] ~= '*' and (t[2] or '0') ~= ARGV[2] then
  return 'moved'
end
if ARGV[4] ~= '' and tonumber(server_time()) > tonumber(ARGV[4]) then return 'late' end
local at = 5
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  local own = OWN[ARGV[at + 1]]
  if own then own(unpack(ARGV, at + 2, at + count)) else call(unpack(ARGV, at + 1, at + count)) end
  at = at + count + 1
end
call('HINCRBY', KEYS[1], 'v', 1)
done = ARGV[3] .. string.sub(done, 1, -2)
if #done > KEPT then done = string.match(string.sub(done, 1, KEPT), '^(.*) ') or ARGV[3] end
call('HSET', KEYS[1], 'last', done)
return 'ok'
