-- A closed session takes no messages, edits, overlays or checkouts.
ALTER TABLE session ADD COLUMN closed INTEGER NOT NULL DEFAULT 0;
-- What is not inherited is not copied by forks, and goes when its session is cleared.
ALTER TABLE document ADD COLUMN inherit INTEGER NOT NULL DEFAULT 1;

DROP VIEW standing;
CREATE VIEW standing AS
SELECT s.number, s.owner, s.id, s.home, s.tree, coalesce(t.pos, s.tip) AS tip, s.fork,
    s.lead + coalesce(t.path_tokens, 0) AS context,
    s.apart + (coalesce(t.pos, s.tip) & 0xffffff) AS messages,
    s.overlays, s.edited, s.version, s.created_at,
    iif(t.pos > s.tip, t.created_at, s.active_at) AS active_at, s.active_s, t.id AS tip_id,
    s.closed
FROM session s LEFT JOIN message t ON t.pos = iif(
    s.grows, (SELECT max(pos) FROM message WHERE pos BETWEEN s.tip AND s.tip | 0xffffff), s.tip
);
