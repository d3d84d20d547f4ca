"""The search index: a file beside the database, filled from its change feed after the commits."""
