-- Versions of records: a new session's is above that of every one that was deleted, so that a name
-- that is used again never has a version twice, and nothing is kept for the names that are gone.
CREATE TABLE {s}.floor (
    version     bigint NOT NULL
);
INSERT INTO {s}.floor VALUES (0);

-- Volatile, so that it sees what was committed until it is called: a statement that claims a name,
-- and then calls this, sees the deletion of whoever had the name before.
CREATE FUNCTION {s}.first_version() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT f.version + 1 FROM {s}.floor f);
END $$;
