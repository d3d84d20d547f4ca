-- Data at positions. A version holds from its position on. Where none is at or above a position in its
-- segment, it is the one that held where the segment grew out.
CREATE TABLE {s}.data (
    tree        bigint NOT NULL,
    pos         bigint NOT NULL,
    previous    bigint NOT NULL,            -- the version before it on its path, or 0
    value       bytea NOT NULL,
    PRIMARY KEY (tree, pos)
) {by_tree};
ALTER TABLE {s}.segment ADD COLUMN data_at bigint NOT NULL DEFAULT 0;

-- Where the data stands that holds at a position; 0 for none.
CREATE FUNCTION {s}.data_at(of_tree bigint, of_pos bigint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(
        (SELECT d.pos FROM {s}.data d
         WHERE d.tree = of_tree AND d.pos BETWEEN of_pos >> 24 << 24 AND of_pos
         ORDER BY d.pos DESC LIMIT 1),
        (SELECT g.data_at FROM {s}.segment g
         WHERE g.tree = of_tree AND g.number = of_pos >> 24),
        0);
END $$;

-- The same for messages that a session just appended; looked for where there is any data at all.
CREATE FUNCTION {s}.data_held(owner_name text, session_id text, of_pos bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF of_pos IS NULL OR NOT EXISTS (SELECT 1 FROM {s}.data) THEN RETURN 0; END IF;
    RETURN (SELECT {s}.data_at(d.tree, of_pos)
        FROM {s}.owner o JOIN {s}.directory d ON d.owner = o.number
        WHERE o.name = owner_name AND d.id = session_id);
END $$;

-- The same for several sessions; NULL where there is no data at all.
CREATE FUNCTION {s}.data_held_each(
    owner_names text[], session_ids text[], nths bigint[], starts bigint[]
) RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM {s}.data) THEN RETURN NULL; END IF;
    RETURN ARRAY(
        SELECT {s}.data_held(owner_names[u.nth], session_ids[u.nth], u.start)
        FROM unnest(nths, starts) WITH ORDINALITY u(nth, start, n) ORDER BY u.n);
END $$;

-- Whether there is data in a session's tree.
CREATE FUNCTION {s}.has_data(owner_name text, session_id text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM {s}.data) AND EXISTS (
        SELECT 1 FROM {s}.owner o JOIN {s}.directory d ON d.owner = o.number
        JOIN {s}.data x ON x.tree = d.tree
        WHERE o.name = owner_name AND d.id = session_id);
END $$;

-- Begin a segment under a position, and give its number.
CREATE OR REPLACE FUNCTION {s}.new_segment(of_tree bigint, of_home bigint, parent_pos bigint)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    made bigint := nextval('{s}.segment_number');
    above bigint[] := '{}';
BEGIN
    IF parent_pos > 0 THEN
        above := parent_pos || ({s}.lineage_of(of_tree, parent_pos >> 24))[1:63];
    END IF;
    INSERT INTO {s}.segment (tree, number, home, parent, lineage, data_at)
    VALUES (of_tree, made, of_home, parent_pos, above, {s}.data_at(of_tree, parent_pos));
    RETURN made;
END $$;

-- Write a mark after a position, for a session whose tree is locked, as messages are written: but
-- it counts nothing, is no activity, and the feed does not tell of it. Gives its position.
CREATE FUNCTION {s}.write_mark(
    of_tree bigint, of_session bigint, after_pos bigint, at_us bigint, mark_id text
) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    s {s}.session%ROWTYPE;
    at bigint;
    parent {s}.message%ROWTYPE;
    running bigint := 0;
    shown bigint;
BEGIN
    SELECT * INTO STRICT s FROM {s}.session x WHERE x.tree = of_tree AND x.number = of_session;
    IF after_pos > 0 THEN
        SELECT * INTO STRICT parent FROM {s}.message m WHERE m.tree = s.tree AND m.pos = after_pos;
        running := parent.path_tokens;
    END IF;
    IF after_pos > 0 AND parent.home = s.home AND NOT EXISTS (
        SELECT 1 FROM {s}.message m WHERE m.tree = s.tree AND m.pos = after_pos + 1
    ) THEN
        at := after_pos + 1;
    ELSE
        at := {s}.new_segment(s.tree, s.home, after_pos) << 24 | ((after_pos & 16777215) + 1);
    END IF;
    INSERT INTO {s}.message (tree, pos, home, tokens, path_tokens, created_at, id, role)
    VALUES (s.tree, at, s.home, 0, running, at_us, mark_id, 'mark');
    IF after_pos = s.tip AND s.context IS NOT NULL THEN
        shown := s.context;
    ELSIF s.overlays = 0 AND NOT EXISTS (SELECT 1 FROM {s}.edit e WHERE e.tree = s.tree) THEN
        shown := running;
    END IF;
    UPDATE {s}.session x SET tip = at, context = shown
    WHERE x.tree = of_tree AND x.number = of_session;
    RETURN at;
END $$;
