-- A checksum of what was said and where it stands, so that what a disk made of it is told. Rows
-- that were there before are taken as they are.
ALTER TABLE message ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
UPDATE message SET checksum =
    checksum_of(pos, home, id, role, tokens, version, created_at, body);

ALTER TABLE overlay ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
UPDATE overlay SET checksum = checksum_of(
    id, first, last, tokens, covered_tokens, created_by, created_at, metadata, summary
);

ALTER TABLE document ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
UPDATE document SET checksum = checksum_of(key, updated_at, value);
