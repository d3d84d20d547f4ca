-- The home that a forked session's fork point has. A chain of these leads to every home on the path
-- to it: where else the ids that the session sees may be. A row outlives its session while another
-- one's chain leads through it.
CREATE TABLE descent (
    home        INTEGER PRIMARY KEY,
    above       INTEGER NOT NULL CHECK (above < home)
) STRICT;
CREATE INDEX descent_by_above ON descent (above);

INSERT INTO descent
SELECT s.home, m.home FROM session s JOIN message m ON m.pos = s.fork WHERE s.fork > 0;

-- Of a session that is gone, the deepest place that it still stands on is as good: all of them are
-- on the path to its fork point.
INSERT OR IGNORE INTO descent
SELECT home, above FROM (
    SELECT g.home, m.home AS above, max(g.parent & 0xffffff)
    FROM segment g JOIN message m ON m.pos = g.parent WHERE m.home <> g.home GROUP BY g.home
);

DROP TABLE inherited;
