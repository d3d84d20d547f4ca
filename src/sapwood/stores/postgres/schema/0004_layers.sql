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
-- Messages. Keep the digests that clients gave for messages that were just appended from a position
-- on: none else can work them out. Where there is no position, nothing was appended.
CREATE FUNCTION {s}.keep_digests(
    owner_name text, session_id text, start bigint, digests bytea[]
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    of_tree bigint;
BEGIN
    IF start IS NULL THEN RETURN; END IF;
    -- Now that it is locked: a clear may have moved it to another tree before.
    SELECT d.tree INTO STRICT of_tree
    FROM {s}.owner o JOIN {s}.directory d ON d.owner = o.number
    WHERE o.name = owner_name AND d.id = session_id;
    FOR n IN 1 .. cardinality(digests) LOOP
        CONTINUE WHEN digests[n] IS NULL;
        UPDATE {s}.message m SET digest = digests[n]
        WHERE m.tree = of_tree AND m.pos = start + n - 1;
    END LOOP;
END $$;

-- The feed. Tell it of a session's record that was made or changed: in place of positions stands the
-- record's version.
CREATE FUNCTION {s}.tell_record(of_tree bigint, of_session bigint, at_us bigint) RETURNS void
LANGUAGE sql VOLATILE AS $$
    INSERT INTO {s}.change (owner, session, tree, kind, first, last, at, name)
    SELECT x.owner, x.number, x.tree, 8, x.version, x.version, at_us, x.id
    FROM {s}.session x WHERE x.tree = of_tree AND x.number = of_session
$$;

-- Which owners changed is looked for by transaction: the index is of pages, and costs a change next
-- to nothing.
CREATE INDEX change_by_transaction ON {s}.change USING brin (xid)
    WITH (pages_per_range = 16, autosummarize = on);
CREATE INDEX owner_by_trimmed ON {s}.owner (trimmed_xid);

-- Documents. When one was first put; NULL: when it was put last, and not replaced since.
ALTER TABLE {s}.document ADD COLUMN created_at bigint;

-- The same as `append` with what comes along: fences and the record's version, which have to be
-- these; documents, deleted where there is no value; and a patch of the record, of which `patched`
-- names the columns. Gives no position, and writes nothing, also when one of these does not hold.
CREATE OR REPLACE FUNCTION {s}.append_with(
    owner_name text, session_id text, at_us bigint, asked text[],
    after_id text, after_root boolean, tip_id text, tip_root boolean,
    ids text[], roles text[], token_counts bigint[], said_us bigint[], bodies bytea[],
    word_lists text[], fence_keys text[], fence_versions bigint[], record_version bigint,
    doc_keys text[], doc_values bytea[], doc_versions bigint[], doc_expire_in_us bigint[],
    doc_inherits boolean[], patched text[], new_title bytea, new_state text, new_tags text[],
    new_budget bigint, new_attributes bytea, new_model text, new_source text,
    new_end_reason text, new_closed boolean,
    OUT start bigint, OUT now_us bigint, OUT versions bigint[]
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    s {s}.session%ROWTYPE;
    doc record;
    made bigint;
BEGIN
    SELECT * INTO s FROM {s}.locked_session(owner_name, session_id);
    IF NOT FOUND OR s.version <> record_version OR EXISTS (
        SELECT 1 FROM unnest(fence_keys, fence_versions) f(key, version)
        WHERE f.version IS DISTINCT FROM (
            SELECT d.version FROM {s}.document d
            WHERE d.tree = s.tree AND d.session = s.number AND d.key = f.key
        )
    ) THEN RETURN; END IF;
    now_us := coalesce(at_us, {s}.now_us());
    -- Version 0 stands for one that is not there, or is expired.
    IF EXISTS (
        SELECT 1 FROM unnest(doc_keys, doc_versions) u(key, version) LEFT JOIN LATERAL (
            SELECT d.version, d.expires_at FROM {s}.document d
            WHERE d.tree = s.tree AND d.session = s.number AND d.key = u.key OFFSET 0
        ) d ON true
        WHERE u.version <> coalesce(d.version, 0)
          AND NOT (u.version = 0 AND coalesce(d.expires_at <= now_us, false))
    ) THEN RETURN; END IF;
    SELECT a.start INTO start FROM {s}.append(
        owner_name, session_id, now_us, asked, after_id, after_root, tip_id, tip_root,
        ids, roles, token_counts, said_us, bodies, word_lists) a;
    IF start IS NULL THEN RETURN; END IF;
    versions := '{}';
    FOR doc IN SELECT * FROM unnest(doc_keys, doc_values, doc_expire_in_us, doc_inherits)
        u(key, value, expire_in_us, inherit)
    LOOP
        made := 0;
        IF doc.value IS NULL THEN
            DELETE FROM {s}.document d
            WHERE d.tree = s.tree AND d.session = s.number AND d.key = doc.key;
        ELSE
            INSERT INTO {s}.document AS d
                (tree, session, key, version, updated_at, expires_at, value, inherit)
            VALUES (s.tree, s.number, doc.key, nextval('{s}.document_version'), now_us,
                now_us + doc.expire_in_us, doc.value, doc.inherit)
            ON CONFLICT (tree, session, key) DO UPDATE SET version = excluded.version,
                updated_at = excluded.updated_at, expires_at = excluded.expires_at,
                value = excluded.value, inherit = excluded.inherit,
                created_at = CASE WHEN d.expires_at <= now_us THEN NULL
                    ELSE coalesce(d.created_at, d.updated_at) END
            RETURNING d.version INTO made;
        END IF;
        versions := versions || made;
    END LOOP;
    IF patched IS NULL THEN RETURN; END IF;
    UPDATE {s}.session x SET version = x.version + 1, closed = coalesce(new_closed, x.closed)
    WHERE x.tree = s.tree AND x.number = s.number;
    PERFORM {s}.tell_record(s.tree, s.number, now_us);
    IF patched = '{}' THEN RETURN; END IF;
    UPDATE {s}.profile p SET
        title = CASE WHEN 'title' = ANY (patched) THEN new_title ELSE p.title END,
        state = CASE WHEN 'state' = ANY (patched) THEN new_state ELSE p.state END,
        tags = CASE WHEN 'tags' = ANY (patched) THEN new_tags ELSE p.tags END,
        budget = CASE WHEN 'budget' = ANY (patched) THEN new_budget ELSE p.budget END,
        attributes = CASE WHEN 'attributes' = ANY (patched) THEN new_attributes
            ELSE p.attributes END,
        model = CASE WHEN 'model' = ANY (patched) THEN new_model ELSE p.model END,
        source = CASE WHEN 'source' = ANY (patched) THEN new_source ELSE p.source END,
        end_reason = CASE WHEN 'end_reason' = ANY (patched) THEN new_end_reason
            ELSE p.end_reason END
    WHERE p.tree = s.tree AND p.session = s.number;
END $$;
