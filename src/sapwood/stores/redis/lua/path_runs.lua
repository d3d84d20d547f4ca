-- Where the messages of a path are, for a client that reads them itself: from the leaf up, segment,
-- first, last, what is above, and the session. ARGV: session, time, overlays. 'long' when overlays
-- are shown, or there is too much of it: the whole is then read by one script.
local now = ARGV[2] ~= '' and ARGV[2] or server_time()
local row = row_of(ARGV[1], now)
if not row then return {'gone'} end
if row.overlays > 0 and ARGV[3] == '1' then return {'long'} end
local seg, depth = row.tip[1] or 0, row.tip[2] or 0
local out = {}
each_span(seg, depth, function(s, first, last)
  refuse_missing(s, last, entry(s, last))
  local name = call('HGET', stem .. 'm', segment(s).home)
  out[#out + 1] = {s, first, last, above(s), name}
  return #out > 16
end)
if #out == 0 or #out > 16 then return {'long'} end
local context = row.context ~= '' and row.context or text(context_at(row, seg, depth, now))
return {'ok', call('HGET', KEYS[1], 'v'), row.tip_id, context, out, plain_tip(row, ARGV[3]),
  row.data}
