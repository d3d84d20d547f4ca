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

-- What a session is for: a conversation of the user's, or something that is not listed with these.
ALTER TABLE {s}.session ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT 'chat';

-- The session through which a message (or with is_summary an overlay) is told of: its home, or if
-- that is gone the oldest that stands on it; NULL when it is out of scope. The scope is an owner,
-- or the owner's sessions of one kind, and with only_session what that one sees.
DROP FUNCTION {s}.told_as(
    boolean, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint);
CREATE FUNCTION {s}.told_as(
    is_summary boolean, of_tree bigint, of_key bigint, of_home bigint, of_owner bigint,
    only_kind text, only_session bigint, only_tree bigint, only_home bigint, only_fork bigint
) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    teller bigint;
    its_kind text;
BEGIN
    IF is_summary THEN
        SELECT s.number INTO teller FROM {s}.in_force f JOIN {s}.session s
            ON s.tree = f.tree AND s.number = f.session
        WHERE f.tree = of_tree AND f.overlay = of_key AND s.owner = of_owner
          AND (only_session IS NULL OR s.number = only_session)
          AND (only_kind IS NULL OR s.kind = only_kind)
        ORDER BY s.number LIMIT 1;
        RETURN teller;
    END IF;
    IF only_session IS NOT NULL AND (of_tree <> only_tree OR (
        of_home <> only_home AND NOT {s}.is_on_path(of_tree, of_key, only_fork)
    )) THEN
        RETURN NULL;
    END IF;
    SELECT s.number, s.kind INTO teller, its_kind FROM {s}.session s
    WHERE s.tree = of_tree AND s.home = of_home AND s.owner = of_owner;
    IF FOUND THEN
        RETURN CASE WHEN only_kind IS NULL OR its_kind = only_kind THEN teller END;
    END IF;
    SELECT s.number INTO teller FROM {s}.inherited i JOIN {s}.session s
        ON s.tree = i.tree AND s.number = i.session
    WHERE i.tree = of_tree AND i.home = of_home AND s.owner = of_owner
      AND {s}.is_on_path(of_tree, of_key, s.fork)
      AND (only_kind IS NULL OR s.kind = only_kind)
    ORDER BY s.number LIMIT 1;
    RETURN teller;
END $$;

-- What the layers above keep of a session, as JSON; and by what it is found: the owner's number in
-- 8 bytes, then the digests of its key's parts.
ALTER TABLE {s}.profile
    ADD COLUMN system bytea NOT NULL DEFAULT '{}', ADD COLUMN system_key bytea;
CREATE INDEX profile_by_key ON {s}.profile (system_key) WHERE system_key IS NOT NULL;
