-- The free fields of a session's record; what every session has in common got fields of its own.
ALTER TABLE {s}.profile RENAME COLUMN data TO attributes;
ALTER TABLE {s}.profile
    ADD COLUMN model text COLLATE "C", ADD COLUMN source text COLLATE "C",
    ADD COLUMN end_reason text COLLATE "C";
