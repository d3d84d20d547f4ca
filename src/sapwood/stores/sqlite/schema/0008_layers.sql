-- Documents. When one was first put; NULL: when it was put last, and not replaced since.
ALTER TABLE document ADD COLUMN created_at INTEGER;
