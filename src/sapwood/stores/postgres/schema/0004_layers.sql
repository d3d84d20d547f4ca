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
