-- Data at positions

-- A version holds from its position on. Where none is at or above a position in its segment, it is
-- the one that held where the segment grew out.
CREATE TABLE data (
    pos         INTEGER PRIMARY KEY,
    previous    INTEGER NOT NULL,           -- the version before it on its path, or 0
    value       BLOB NOT NULL,
    checksum    INTEGER NOT NULL
) STRICT;
ALTER TABLE segment ADD COLUMN data_at INTEGER NOT NULL DEFAULT 0;
-- 1 when `data` may hold something of this tree.
ALTER TABLE session ADD COLUMN has_data INTEGER NOT NULL DEFAULT 0;

-- The feed. It is read and trimmed for each owner by itself; the sequence's number is that of the
-- last change that was trimmed of any. The tree is told where no message's home does.
ALTER TABLE owner ADD COLUMN trimmed INTEGER NOT NULL DEFAULT 0;
UPDATE owner SET trimmed = (SELECT value FROM sequence WHERE name = 'trimmed');
ALTER TABLE change ADD COLUMN tree INTEGER;
CREATE INDEX change_by_owner ON change (owner);

-- Documents. When one was first put; NULL: when it was put last, and not replaced since.
ALTER TABLE document ADD COLUMN created_at INTEGER;

-- Versions of records: a new session's is above that of every one that was deleted, so that a name
-- that is used again never has a version twice, and nothing is kept for the names that are gone.
INSERT INTO sequence VALUES ('floor', 0);

-- What a session is for: a conversation of the user's, or something that is not listed with these.
ALTER TABLE session ADD COLUMN kind TEXT NOT NULL DEFAULT 'chat';

-- What the layers above keep of a session, as JSON; and by what it is found: the owner's number in
-- 8 bytes, then the digests of its key's parts.
ALTER TABLE profile ADD COLUMN system BLOB NOT NULL DEFAULT x'7b7d';
ALTER TABLE profile ADD COLUMN system_key BLOB;
CREATE INDEX profile_by_key ON profile (system_key) WHERE system_key IS NOT NULL;

-- When anything of a session's record or of its messages was last written, by the store's clock.
-- As with the activity, an append leaves the row alone but for the first in a second: then it is the
-- time of the tip, if that is of this second; it may have been said at any other time.
ALTER TABLE session ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
UPDATE session SET updated_at = max(created_at,
    (SELECT n.active_at FROM standing n WHERE n.number = session.number));

-- Listings. Every order is that of an index, for an owner's sessions of one kind; of seconds, so that
-- the indexes rest. For all owners there is one by kind, state and activity: the state is kept here,
-- too, as the profile has it.
ALTER TABLE session ADD COLUMN updated_s INTEGER AS (updated_at / 1000000);
ALTER TABLE session ADD COLUMN state TEXT NOT NULL DEFAULT '';
UPDATE session SET state = (SELECT state FROM profile p WHERE p.session = session.number);
DROP INDEX session_by_activity;
CREATE INDEX session_by_active ON session (owner, kind, active_s, number);
CREATE INDEX session_by_updated ON session (owner, kind, updated_s, number);
CREATE INDEX session_by_created ON session (owner, kind, number);
CREATE INDEX session_by_state ON session (owner, kind, state);
CREATE INDEX session_of_all ON session (kind, state, active_s, number);

-- The owner's number in 8 bytes, then the first 80 bytes of the title.
ALTER TABLE profile ADD COLUMN title_key BLOB;
UPDATE profile SET title_key = CAST(unhex(printf('%016x',
    (SELECT s.owner FROM session s WHERE s.number = profile.session)))
    || substr(CAST(title AS BLOB), 1, 80) AS BLOB) WHERE title IS NOT NULL;
CREATE INDEX profile_by_title ON profile (title_key) WHERE title_key IS NOT NULL;
CREATE TABLE tag (
    owner       INTEGER NOT NULL,
    tag         TEXT NOT NULL,
    session     INTEGER NOT NULL,
    PRIMARY KEY (owner, tag, session)
) STRICT, WITHOUT ROWID;
INSERT INTO tag SELECT DISTINCT s.owner, j.value, s.number
FROM session s JOIN profile p ON p.session = s.number, json_each(p.tags) j;

DROP VIEW standing;
CREATE VIEW standing AS
SELECT s.number, s.owner, s.id, s.home, s.tree, coalesce(t.pos, s.tip) AS tip, s.fork,
    s.lead + coalesce(t.path_tokens, 0) AS context,
    s.apart + (coalesce(t.pos, s.tip) & 0xffffff) AS messages,
    s.overlays, s.edited, s.version, s.created_at,
    iif(t.pos > s.tip, t.created_at, s.active_at) AS active_at, s.active_s, t.id AS tip_id,
    s.closed, s.has_data, s.kind, s.state, s.updated_s,
    iif(t.pos > s.tip AND t.created_at
            BETWEEN s.updated_at AND s.updated_at - s.updated_at % 1000000 + 999999,
        t.created_at, s.updated_at) AS updated_at,
    iif(s.has_data, coalesce(
        (SELECT max(d.pos) FROM data d
         WHERE d.pos BETWEEN coalesce(t.pos, s.tip) & ~0xffffff AND coalesce(t.pos, s.tip)),
        (SELECT g.data_at FROM segment g WHERE g.number = coalesce(t.pos, s.tip) >> 24)
    ), 0) AS data_at
FROM session s LEFT JOIN message t ON t.pos = iif(
    s.grows, (SELECT max(pos) FROM message WHERE pos BETWEEN s.tip AND s.tip | 0xffffff), s.tip
);
