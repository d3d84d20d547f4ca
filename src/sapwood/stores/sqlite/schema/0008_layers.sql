-- The feed. It is read and trimmed for each owner by itself; the sequence's number is that of the
-- last change that was trimmed of any. The tree is told where no message's home does.
ALTER TABLE owner ADD COLUMN trimmed INTEGER NOT NULL DEFAULT 0;
UPDATE owner SET trimmed = (SELECT value FROM sequence WHERE name = 'trimmed');
ALTER TABLE change ADD COLUMN tree INTEGER;
CREATE INDEX change_by_owner ON change (owner);

-- Documents. When one was first put; NULL: when it was put last, and not replaced since.
ALTER TABLE document ADD COLUMN created_at INTEGER;
