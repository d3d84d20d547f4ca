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

DROP VIEW standing;
CREATE VIEW standing AS
SELECT s.number, s.owner, s.id, s.home, s.tree, coalesce(t.pos, s.tip) AS tip, s.fork,
    s.lead + coalesce(t.path_tokens, 0) AS context,
    s.apart + (coalesce(t.pos, s.tip) & 0xffffff) AS messages,
    s.overlays, s.edited, s.version, s.created_at,
    iif(t.pos > s.tip, t.created_at, s.active_at) AS active_at, s.active_s, t.id AS tip_id,
    s.closed, s.has_data,
    iif(s.has_data, coalesce(
        (SELECT max(d.pos) FROM data d
         WHERE d.pos BETWEEN coalesce(t.pos, s.tip) & ~0xffffff AND coalesce(t.pos, s.tip)),
        (SELECT g.data_at FROM segment g WHERE g.number = coalesce(t.pos, s.tip) >> 24)
    ), 0) AS data_at
FROM session s LEFT JOIN message t ON t.pos = iif(
    s.grows, (SELECT max(pos) FROM message WHERE pos BETWEEN s.tip AND s.tip | 0xffffff), s.tip
);
-- The feed. It is read and trimmed for each owner by itself; the sequence's number is that of the
-- last change that was trimmed of any. The tree is told where no message's home does.
ALTER TABLE owner ADD COLUMN trimmed INTEGER NOT NULL DEFAULT 0;
UPDATE owner SET trimmed = (SELECT value FROM sequence WHERE name = 'trimmed');
ALTER TABLE change ADD COLUMN tree INTEGER;
CREATE INDEX change_by_owner ON change (owner);

-- Documents. When one was first put; NULL: when it was put last, and not replaced since.
ALTER TABLE document ADD COLUMN created_at INTEGER;
