-- The free fields of a session's record; what every session has in common got fields of its own.
ALTER TABLE profile RENAME COLUMN data TO attributes;
ALTER TABLE profile ADD COLUMN model TEXT;
ALTER TABLE profile ADD COLUMN source TEXT;
ALTER TABLE profile ADD COLUMN end_reason TEXT;
