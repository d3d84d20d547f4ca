-- The tokens that are shown from the root to the end of an overlay, itself included, as if nothing
-- were edited or pinned; NULL: to be worked out.
ALTER TABLE in_force ADD COLUMN shown INTEGER;
CREATE INDEX in_force_shown ON in_force (session, last & 0xffffff) WHERE shown IS NOT NULL;

-- Before, a tree was noted as stale and its sums kept as they were; now a sum that is there holds.
UPDATE session SET lead = NULL WHERE tree IN (SELECT tree FROM stale);
