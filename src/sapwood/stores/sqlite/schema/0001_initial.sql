-- Positions are packed into one integer, segment << 24 | depth, so that a segment's messages lie
-- together on disk and a path is a handful of ranges. 0 stands for the root.

CREATE TABLE owner (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE
) STRICT;

-- Appending to the end of a session's own segment leaves its row alone, but for the first append
-- in a second: what moves with the tip is kept as a difference to it. Read it through `standing`.
CREATE TABLE session (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    owner       INTEGER NOT NULL,
    id          TEXT NOT NULL,
    home        INTEGER NOT NULL UNIQUE,    -- what its messages carry; a new one after a clear
    tree        INTEGER NOT NULL,
    tip         INTEGER NOT NULL,
    grows       INTEGER NOT NULL,           -- 1: the tip is the last of its segment by now
    fork        INTEGER NOT NULL,           -- the position it was forked at, or 0
    lead        INTEGER,                    -- tokens shown, less path_tokens at the tip;
                                            -- NULL: to be worked out
    apart       INTEGER NOT NULL,           -- messages counted, less the depth of the tip
    overlays    INTEGER NOT NULL,           -- how many are in force
    edited      INTEGER NOT NULL,           -- 1 when `edit` may hold something of this tree
    version     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    active_at   INTEGER NOT NULL,           -- when the tip was appended, or it was created
    active_s    INTEGER NOT NULL,           -- the second of active_at, so that its index rests
    UNIQUE (owner, id)
) STRICT;
CREATE INDEX session_by_activity ON session (owner, active_s, number);
CREATE INDEX session_by_tree ON session (tree);
CREATE INDEX session_by_fork ON session (fork) WHERE fork > 0;

-- What only changes when somebody changes it.
CREATE TABLE profile (
    session     INTEGER PRIMARY KEY,
    title       TEXT,
    state       TEXT NOT NULL,
    tags        TEXT NOT NULL,
    budget      INTEGER,
    parent_kind TEXT,
    parent      TEXT,
    data        BLOB NOT NULL
) STRICT;
CREATE INDEX profile_by_parent ON profile (parent) WHERE parent IS NOT NULL;

-- The homes on the path to a session's fork point: where else its ids may be.
CREATE TABLE inherited (
    session     INTEGER NOT NULL,
    home        INTEGER NOT NULL,
    PRIMARY KEY (session, home)
) STRICT, WITHOUT ROWID;
CREATE INDEX inherited_by_home ON inherited (home);

-- The last home number given, the last change that was trimmed from the feed, and a number that
-- tells this database from others.
CREATE TABLE sequence (
    name        TEXT PRIMARY KEY,
    value       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO sequence VALUES ('home', 0), ('trimmed', 0), ('database', random());

CREATE TABLE segment (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    home        INTEGER NOT NULL,
    parent      INTEGER NOT NULL,           -- the position it follows
    lineage     BLOB NOT NULL               -- the nearest 64 positions on the way to the root
) STRICT;
CREATE INDEX segment_by_parent ON segment (parent);
CREATE INDEX segment_by_home ON segment (home, parent);

-- A message without a body was deleted: its position and id stay. The digest of what was first
-- appended is only kept where the body was changed since: else the body tells.
CREATE TABLE message (
    pos         INTEGER PRIMARY KEY,
    home        INTEGER NOT NULL,
    id          TEXT NOT NULL,
    role        TEXT NOT NULL,
    tokens      INTEGER NOT NULL,
    path_tokens INTEGER NOT NULL,           -- the sum from the root as it was when appended
    digest      BLOB,
    version     INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    body        BLOB
) STRICT;
CREATE UNIQUE INDEX message_by_id ON message (home, id);

-- Where a session stands, and the figures that move with its tip.
CREATE VIEW standing AS
SELECT s.number, s.owner, s.id, s.home, s.tree, coalesce(t.pos, s.tip) AS tip, s.fork,
    s.lead + coalesce(t.path_tokens, 0) AS context,
    s.apart + (coalesce(t.pos, s.tip) & 0xffffff) AS messages,
    s.overlays, s.edited, s.version, s.created_at,
    iif(t.pos > s.tip, t.created_at, s.active_at) AS active_at, s.active_s, t.id AS tip_id
FROM session s LEFT JOIN message t ON t.pos = iif(
    s.grows, (SELECT max(pos) FROM message WHERE pos BETWEEN s.tip AND s.tip | 0xffffff), s.tip
);

-- Messages changed after something followed them: what to add to path_tokens below, and when.
CREATE TABLE edit (
    pos         INTEGER PRIMARY KEY,
    delta       INTEGER NOT NULL,
    seq         INTEGER NOT NULL
) STRICT;

CREATE TABLE overlay (
    number         INTEGER PRIMARY KEY AUTOINCREMENT,
    tree           INTEGER NOT NULL,
    id             TEXT NOT NULL,
    first          INTEGER NOT NULL,
    last           INTEGER NOT NULL,
    tokens         INTEGER NOT NULL,
    covered_tokens INTEGER NOT NULL,
    created_by     TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    metadata       BLOB NOT NULL,
    summary        TEXT NOT NULL,
    UNIQUE (tree, id)
) STRICT;

-- The first row at or before a position in a segment is the overlay to show there.
CREATE TABLE in_force (
    session     INTEGER NOT NULL,
    last        INTEGER NOT NULL,
    first_depth INTEGER NOT NULL,
    overlay     INTEGER NOT NULL,
    PRIMARY KEY (session, last DESC, first_depth ASC, overlay DESC)
) STRICT, WITHOUT ROWID;
CREATE INDEX in_force_by_overlay ON in_force (overlay);

-- The key is the version: AUTOINCREMENT never gives a number twice. Session 0 is the owner itself.
CREATE TABLE document (
    version     INTEGER PRIMARY KEY AUTOINCREMENT,
    owner       INTEGER NOT NULL,
    session     INTEGER NOT NULL,
    key         TEXT NOT NULL,
    updated_at  INTEGER NOT NULL,
    expires_at  INTEGER,
    value       BLOB NOT NULL,
    UNIQUE (owner, session, key)
) STRICT;

CREATE TABLE usage (
    number           INTEGER PRIMARY KEY,   -- in the order in which they were recorded
    session          INTEGER NOT NULL,
    id               TEXT NOT NULL,
    model            TEXT NOT NULL,
    message          TEXT,
    input_tokens     INTEGER NOT NULL,
    output_tokens    INTEGER NOT NULL,
    cached_tokens    INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost_micros      INTEGER NOT NULL,
    UNIQUE (session, id)
) STRICT;

-- The newest row is never trimmed, so that numbers only rise.
CREATE TABLE change (
    seq         INTEGER PRIMARY KEY,
    owner       INTEGER NOT NULL,
    session     INTEGER NOT NULL,
    kind        INTEGER NOT NULL,
    first       INTEGER NOT NULL,
    last        INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    name        TEXT                        -- of a session that is retired
) STRICT;

CREATE TABLE reader (
    owner       INTEGER NOT NULL,
    name        TEXT NOT NULL,
    seq         INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;

-- Work that is left to be done: segments to cut or delete, trees whose sums to renew.
CREATE TABLE sweep (
    segment     INTEGER PRIMARY KEY
) STRICT;
-- Deletions, by their change, after which the file has yet to be rewritten.
CREATE TABLE erased (
    seq         INTEGER PRIMARY KEY
) STRICT;
CREATE TABLE stale (
    tree        INTEGER PRIMARY KEY
) STRICT;
