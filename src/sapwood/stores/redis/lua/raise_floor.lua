-- Note how high the version of a record was that is about to be deleted. ARGV: version.
return call('ZADD', KEYS[1], 'GT', ARGV[1], 'version')
