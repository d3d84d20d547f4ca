-- Publish what was pulled from a tree to its owner: changes once each, and activity unless something
-- newer is noted. ARGV: tree, version, appends, seq of the last change, count of changes, seq and
-- change ..., member of the listing, time of the last activity, of expiry or '', and of the last write,
-- what it is found by ...
local known = numbers(call('HGET', stem .. 'x', ARGV[1]) or '0 0 0')
local v, a, seq = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local count = tonumber(ARGV[5])
if count > 0 and call('HEXISTS', KEYS[1], 'fb') == 0 then
  call('HSET', KEYS[1], 'fb', server_time())
end
for i = 6, 5 + 2 * count, 2 do
  if tonumber(ARGV[i]) > known[3] then call('RPUSH', stem .. 'f', ARGV[i + 1]) end
end
if v >= known[1] and a >= known[2] then
  for i = 6 + 2 * count, #ARGV, 5 do
    local second = math.floor(tonumber(ARGV[i + 1]) / 1000000)
    local stands = call('HGET', stem .. 'd', string.sub(ARGV[i], 17))
    local number = stands and string.match(stands, '^%S+ (%d+)')
    -- Only what the directory knows: one that was deleted meanwhile stays away, also when there is
    -- another of its name.
    if number and string.format('%016d', number) == string.sub(ARGV[i], 1, 16) then
      call('ZADD', stem .. 'la', second, ARGV[i])
      call('ZADD', stem .. 'lu', math.floor(tonumber(ARGV[i + 3]) / 1000000), ARGV[i])
      find_by(ARGV[i], ARGV[i + 4])
      if ARGV[i + 2] ~= '' then
        call('ZADD', stem .. 'due', ARGV[i + 2], string.sub(ARGV[i], 17))
      end
    end
  end
end
call('HSET', stem .. 'x', ARGV[1], text(math.max(v, known[1])) .. ' ' .. text(math.max(a, known[2]))
  .. ' ' .. text(math.max(seq, known[3])))
return 'ok'
