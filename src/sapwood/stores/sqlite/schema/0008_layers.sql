-- Versions of records: a new session's is above that of every one that was deleted, so that a name
-- that is used again never has a version twice, and nothing is kept for the names that are gone.
INSERT INTO sequence VALUES ('floor', 0);
