-- The trees of an owner that may have been written to, and until when; the server's time first.
return {server_time(), call('ZRANGE', stem .. 'h', 0, -1, 'WITHSCORES')}
