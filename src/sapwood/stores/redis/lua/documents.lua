-- What those scripts share that read or change documents: a hash by key, `k:`, and beside it a sorted
-- set of its keys, `ks:`, which is there when the hash is, but for what was stored before there were
-- such sets: it is made by the next change.
local KEYS_AT_ONCE = 1000 -- of one command

local function order_of(key) return stem .. 'ks:' .. string.sub(key, #stem + 3) end

local function order_keys(key)
  local order, words = order_of(key), {}
  call('UNLINK', order)
  for _, name in ipairs(call('HKEYS', key)) do
    words[#words + 1] = 0
    words[#words + 1] = name
    if #words >= KEYS_AT_ONCE then call('ZADD', order, unpack(words)) words = {} end
  end
  if #words > 0 then call('ZADD', order, unpack(words)) end
end

local function ready_order(key)
  local order = order_of(key)
  if call('EXISTS', order) == 0 then order_keys(key) end
  return order
end

local function put_document(key, name, stored)
  local order = ready_order(key)
  call('HSET', key, name, stored)
  call('ZADD', order, 0, name)
end

local function drop_documents(key, ...)
  local order = ready_order(key)
  call('HDEL', key, ...)
  call('ZREM', order, ...)
end

-- Documents that have not expired, of a range of keys, in order: nothing where there is no set. Names
-- and what is stored, of which only the first line without values.
-- ARGV: from `at` on, first and last key as Redis writes bounds, whether backwards, how many or -1,
-- whether with values, whether with expired ones.
local function documents_in(key, at, now)
  local low, high, backwards, most = ARGV[at], ARGV[at + 1], ARGV[at + 2] == '1', tonumber(ARGV[at + 3])
  local with_values, with_expired = ARGV[at + 4] == '1', ARGV[at + 5] == '1'
  local order, found, taken = order_of(key), {}, 0
  if call('EXISTS', order) == 0 then
    if call('EXISTS', key) == 1 then return nil end
    return found
  end
  while taken ~= most do
    local count = most < 0 and KEYS_AT_ONCE or math.min(most - taken, KEYS_AT_ONCE)
    local names = backwards and call('ZREVRANGEBYLEX', order, high, low, 'LIMIT', 0, count)
      or call('ZRANGEBYLEX', order, low, high, 'LIMIT', 0, count)
    if #names == 0 then break end
    for i, stored in ipairs(call('HMGET', key, unpack(names))) do
      if not stored then
        error({err = 'SWCORRUPT document ' .. names[i] .. ' is not there: call admin.repair()'})
      end
      local expires = string.match(stored, '^%d+ %d+ (%d*)')
      if with_expired or expires == '' or tonumber(expires) > tonumber(now) then
        found[#found + 1] = names[i]
        found[#found + 1] = with_values and stored or string.match(stored, '^[^\n]*\n')
        taken = taken + 1
      end
    end
    if backwards then high = '(' .. names[#names] else low = '(' .. names[#names] end
  end
  return found
end
