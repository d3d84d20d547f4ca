-- Versions of records: a new session's is above that of every one that was deleted, so that a name
-- that is used again never has a version twice, and nothing is kept for the names that are gone.
CREATE TABLE {s}.floor (
    id          int PRIMARY KEY CHECK (id = 0),     -- there is only one, once something was deleted
    version     bigint NOT NULL
);

-- The row is locked until the commit, where it is raised; that is rare.
CREATE FUNCTION {s}.raise_floor(reached bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE {s}.floor f SET version = reached WHERE f.version < reached;
    IF NOT FOUND AND NOT EXISTS (SELECT 1 FROM {s}.floor) THEN
        INSERT INTO {s}.floor AS f VALUES (0, reached)
        ON CONFLICT (id) DO UPDATE SET version = greatest(f.version, reached);
    END IF;
END $$;

-- Volatile, so that it sees what was committed until it is called: a statement that claims a name,
-- and then calls this, sees the deletion of whoever had the name before.
CREATE FUNCTION {s}.first_version() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN coalesce((SELECT f.version FROM {s}.floor f), 0) + 1;
END $$;

-- What a session is for: a conversation of the user's, or something that is not listed with these.
ALTER TABLE {s}.session ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT 'chat';

-- The session through which a message (or with is_summary an overlay) is told of: its home, or if
-- that is gone the oldest that stands on it; NULL when it is out of scope. The scope is an owner,
-- or the owner's sessions of one kind, and with only_session what that one sees.
DROP FUNCTION {s}.told_as(
    boolean, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint);
CREATE FUNCTION {s}.told_as(
    is_summary boolean, of_tree bigint, of_key bigint, of_home bigint, of_owner bigint,
    only_kind text, only_session bigint, only_tree bigint, only_home bigint, only_fork bigint
) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    teller bigint;
    its_kind text;
BEGIN
    IF is_summary THEN
        SELECT s.number INTO teller FROM {s}.in_force f JOIN {s}.session s
            ON s.tree = f.tree AND s.number = f.session
        WHERE f.tree = of_tree AND f.overlay = of_key AND s.owner = of_owner
          AND (only_session IS NULL OR s.number = only_session)
          AND (only_kind IS NULL OR s.kind = only_kind)
        ORDER BY s.number LIMIT 1;
        RETURN teller;
    END IF;
    IF only_session IS NOT NULL AND (of_tree <> only_tree OR (
        of_home <> only_home AND NOT {s}.is_on_path(of_tree, of_key, only_fork)
    )) THEN
        RETURN NULL;
    END IF;
    SELECT s.number, s.kind INTO teller, its_kind FROM {s}.session s
    WHERE s.tree = of_tree AND s.home = of_home AND s.owner = of_owner;
    IF FOUND THEN
        RETURN CASE WHEN only_kind IS NULL OR its_kind = only_kind THEN teller END;
    END IF;
    SELECT s.number INTO teller FROM {s}.inherited i JOIN {s}.session s
        ON s.tree = i.tree AND s.number = i.session
    WHERE i.tree = of_tree AND i.home = of_home AND s.owner = of_owner
      AND {s}.is_on_path(of_tree, of_key, s.fork)
      AND (only_kind IS NULL OR s.kind = only_kind)
    ORDER BY s.number LIMIT 1;
    RETURN teller;
END $$;

-- What the layers above keep of a session, as JSON; and by what it is found: the owner's number in
-- 8 bytes, then the digests of its key's parts.
ALTER TABLE {s}.profile
    ADD COLUMN system bytea NOT NULL DEFAULT '{}', ADD COLUMN system_key bytea;
CREATE INDEX profile_by_key ON {s}.profile (system_key) WHERE system_key IS NOT NULL;

-- When anything of a session's record or of its messages was last written, by the store's clock.
ALTER TABLE {s}.session ADD COLUMN updated_at bigint NOT NULL DEFAULT 0;
UPDATE {s}.session SET updated_at = greatest(created_at, active_at);

-- Listings. Every order is that of an index, for an owner's sessions of one kind; of seconds, so that
-- the indexes rest. For all owners there is one by kind, state and activity: the state is kept here,
-- too, as the profile has it.
ALTER TABLE {s}.session
    ADD COLUMN updated_s bigint GENERATED ALWAYS AS (updated_at / 1000000) STORED,
    ADD COLUMN state text COLLATE "C" NOT NULL DEFAULT '';
UPDATE {s}.session s SET state = p.state FROM {s}.profile p
WHERE p.tree = s.tree AND p.session = s.number;
DROP INDEX {s}.session_by_activity, {s}.session_by_age;
CREATE INDEX session_by_active ON {s}.session (owner, kind, active_s, number);
CREATE INDEX session_by_updated ON {s}.session (owner, kind, updated_s, number);
CREATE INDEX session_by_created ON {s}.session (owner, kind, number);
CREATE INDEX session_by_state ON {s}.session (owner, kind, state);
CREATE INDEX session_of_all ON {s}.session (kind, state, active_s, number);

-- The owner's number in 8 bytes, then the first 80 bytes of the title.
ALTER TABLE {s}.profile ADD COLUMN title_key bytea;
UPDATE {s}.profile p SET title_key = int8send(s.owner) || substr(p.title, 1, 80)
FROM {s}.session s WHERE s.tree = p.tree AND s.number = p.session AND p.title IS NOT NULL;
CREATE INDEX profile_by_title ON {s}.profile (title_key) WHERE title_key IS NOT NULL;
CREATE TABLE {s}.tag (
    owner       bigint NOT NULL,
    tag         text COLLATE "C" NOT NULL,
    session     bigint NOT NULL,
    PRIMARY KEY (owner, tag, session)
);
INSERT INTO {s}.tag
SELECT DISTINCT s.owner, t.tag, s.number FROM {s}.session s
    JOIN {s}.profile p ON p.tree = s.tree AND p.session = s.number, unnest(p.tags) t(tag);

-- Let a session be found by other tags than those that its profile has, which is changed after this.
CREATE FUNCTION {s}.put_tags(
    of_owner bigint, of_tree bigint, of_session bigint, new_tags text[]
) RETURNS void LANGUAGE sql VOLATILE AS $$
    DELETE FROM {s}.tag g USING {s}.profile p
    WHERE p.tree = of_tree AND p.session = of_session AND g.owner = of_owner
      AND g.tag = ANY (p.tags) AND g.session = of_session;
    INSERT INTO {s}.tag SELECT DISTINCT of_owner, t.tag, of_session FROM unnest(new_tags) t(tag);
$$;

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

-- Write the data that came with an append of so many messages, for the last of them. Gives where the
-- data stands that held before; does nothing where the append did nothing.
CREATE FUNCTION {s}.keep_data(
    owner_name text, session_id text, start bigint, how_many bigint, given bytea
) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    of_tree bigint;
    held bigint;
BEGIN
    IF start IS NULL THEN RETURN 0; END IF;
    -- Now that it is locked: a clear may have moved it to another tree before.
    SELECT d.tree INTO STRICT of_tree
    FROM {s}.owner o JOIN {s}.directory d ON d.owner = o.number
    WHERE o.name = owner_name AND d.id = session_id;
    held := {s}.data_at(of_tree, start);
    INSERT INTO {s}.data (tree, pos, previous, value)
    VALUES (of_tree, start + how_many - 1, held, given);
    RETURN held;
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
    UPDATE {s}.session x SET tip = at, context = shown, updated_at = at_us
    WHERE x.tree = of_tree AND x.number = of_session;
    RETURN at;
END $$;

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

-- Write messages after a position, for a session whose tree is locked: in the slots after it if
-- they are free and the session's own, else in a new segment. Gives the first position.
CREATE OR REPLACE FUNCTION {s}.write_after(
    of_tree bigint, of_session bigint, after_pos bigint, at_us bigint, ids text[], roles text[],
    token_counts bigint[], said_us bigint[], bodies bytea[], word_lists text[]
) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    s {s}.session%ROWTYPE;
    size int := cardinality(ids);
    start bigint;
    parent {s}.message%ROWTYPE;
    running bigint := 0;
    added bigint;
    shown bigint;
    active bigint := coalesce(said_us[size], at_us);
BEGIN
    SELECT * INTO STRICT s FROM {s}.session x WHERE x.tree = of_tree AND x.number = of_session;
    IF after_pos > 0 THEN
        SELECT * INTO STRICT parent FROM {s}.message m WHERE m.tree = s.tree AND m.pos = after_pos;
        running := parent.path_tokens;
    END IF;
    IF after_pos > 0 AND parent.home = s.home AND NOT EXISTS (
        SELECT 1 FROM {s}.message m WHERE m.tree = s.tree AND m.pos = after_pos + 1
    ) THEN
        start := after_pos + 1;
    ELSE
        start := {s}.new_segment(s.tree, s.home, after_pos) << 24 | ((after_pos & 16777215) + 1);
    END IF;
    INSERT INTO {s}.message
        (tree, pos, home, tokens, path_tokens, created_at, id, role, body, words)
    SELECT s.tree, start + u.n - 1, s.home, u.tokens,
        running + sum(u.tokens) OVER (ORDER BY u.n), coalesce(u.said, at_us), u.id, u.role, u.body,
        {s}.marked(u.words, s.owner, s.home)
    FROM unnest(ids, roles, token_counts, said_us, bodies, word_lists)
        WITH ORDINALITY AS u(id, role, tokens, said, body, words, n);
    SELECT sum(t) INTO added FROM unnest(token_counts) t;
    INSERT INTO {s}.change (owner, session, tree, kind, first, last, at)
    VALUES (s.owner, of_session, s.tree, 1, start, start + size - 1, at_us);
    IF after_pos = s.tip AND s.context IS NOT NULL THEN
        shown := s.context + added;
    ELSIF s.overlays = 0 AND NOT EXISTS (SELECT 1 FROM {s}.edit e WHERE e.tree = s.tree) THEN
        shown := running + added;
    ELSIF s.overlays = 0 AND cardinality({s}.lineage_of(s.tree, start >> 24)) < 64 THEN
        -- A path of few segments is walked; any other is left to be worked out.
        shown := {s}.context_at(s.tree, NULL, after_pos, '{}') + added;
    END IF;
    UPDATE {s}.session x SET tip = start + size - 1, context = shown, messages = s.messages + size,
        active_at = active, active_s = active / 1000000,
        updated_at = at_us
    WHERE x.tree = of_tree AND x.number = of_session;
    RETURN start;
END $$;

-- The same for one message after the tip, as nearly every append is: nearly always that is the
-- session's own and nothing follows it, which takes few statements, and values instead of arrays.
CREATE OR REPLACE FUNCTION {s}.append_one(
    owner_name text, session_id text, at_us bigint, is_asked boolean, new_id text, new_role text,
    new_tokens bigint, said_us bigint, new_body bytea, new_words text,
    OUT start bigint, OUT now_us bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    at record;
    s record;
    said bigint;
BEGIN
    SELECT d.tree, d.number, pg_advisory_xact_lock(hashtextextended('sapwood tree {s}', d.tree))
        INTO at FROM {s}.owner o JOIN {s}.directory d ON d.owner = o.number
        WHERE o.name = owner_name AND d.id = session_id;
    IF NOT FOUND THEN RETURN; END IF;
    -- Read now that nobody else can change it; a clear may have moved it to another tree.
    SELECT x.owner, x.home, x.fork, x.tip, x.closed, m.home AS tip_home,
            m.path_tokens AS running, x.context IS NULL AND x.overlays = 0 AS is_to_sum, EXISTS (
            SELECT 1 FROM {s}.message f WHERE f.tree = at.tree AND f.pos = x.tip + 1) AS is_followed
        INTO s FROM {s}.session x LEFT JOIN LATERAL (
            -- By itself, so that it is looked up by its position: in a join, a plan that is made
            -- while the table is small looks through the tree, and goes on to do so.
            SELECT m.home, m.path_tokens FROM {s}.message m
            WHERE m.tree = at.tree AND m.pos = x.tip OFFSET 0
        ) m ON true
        WHERE x.tree = at.tree AND x.number = at.number;
    IF NOT FOUND OR s.closed OR (is_asked AND EXISTS (
        SELECT 1 FROM {s}.seen(at.tree, at.number, s.home, s.fork, ARRAY[new_id])
    )) OR s.tip & 16777215 = 16777215 THEN RETURN; END IF;
    now_us := coalesce(at_us, {s}.now_us());
    IF s.tip_home IS DISTINCT FROM s.home OR s.is_followed OR s.is_to_sum THEN
        start := {s}.write_after(at.tree, at.number, s.tip, now_us, ARRAY[new_id],
            ARRAY[new_role], ARRAY[new_tokens], ARRAY[said_us], ARRAY[new_body], ARRAY[new_words]);
        RETURN;
    END IF;
    start := s.tip + 1;
    said := coalesce(said_us, now_us);
    WITH told AS (
        INSERT INTO {s}.change (owner, session, tree, kind, first, last, at)
        VALUES (s.owner, at.number, at.tree, 1, start, start, now_us)
    ), moved AS (
        UPDATE {s}.session x SET tip = start, context = x.context + new_tokens,
            messages = x.messages + 1, active_at = said, active_s = said / 1000000,
            updated_at = now_us
        WHERE x.tree = at.tree AND x.number = at.number
    )
    INSERT INTO {s}.message
        (tree, pos, home, tokens, path_tokens, created_at, id, role, body, words)
    VALUES (at.tree, start, s.home, new_tokens, s.running + new_tokens, said, new_id, new_role,
        new_body, {s}.marked(new_words, s.owner, s.home));
END $$;

-- The same for several callers, in one transaction: with one statement for all whose tip is their
-- session's own and followed by nothing, and one by one for the others. All trees are locked first,
-- in order, so that two such calls never wait for each other. Joins are by index however small
-- the tables were when the plan was made.
CREATE OR REPLACE FUNCTION {s}.append_each(
    owner_names text[], session_ids text[], at_us bigint, are_asked boolean[], ids text[],
    roles text[], token_counts bigint[], said_us bigint[], bodies bytea[], word_lists text[],
    OUT nths bigint[], OUT starts bigint[], OUT now_us bigint
) LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    trees bigint[];
    numbers bigint[];
BEGIN
    SELECT array_agg(d.tree ORDER BY u.n), array_agg(d.number ORDER BY u.n) INTO trees, numbers
    FROM unnest(owner_names, session_ids) WITH ORDINALITY u(owner_name, session_id, n)
    LEFT JOIN {s}.owner o ON o.name = u.owner_name
    LEFT JOIN {s}.directory d ON d.owner = o.number AND d.id = u.session_id;
    PERFORM pg_advisory_xact_lock(hashtextextended('sapwood tree {s}', t.tree))
    FROM (SELECT DISTINCT u.tree FROM unnest(trees) u(tree) WHERE u.tree > 0 ORDER BY u.tree) t;
    now_us := coalesce(at_us, {s}.now_us());
    WITH one AS (
        SELECT u.*, x.owner, x.home, x.tip, m.path_tokens AS running,
            row_number() OVER (PARTITION BY u.tree, u.number, u.id ORDER BY u.n) AS nth_of_id
        FROM unnest(trees, numbers, are_asked, ids, roles, token_counts, said_us, bodies,
            word_lists) WITH ORDINALITY
            u(tree, number, is_asked, id, role, tokens, said, body, words, n)
        JOIN {s}.session x ON x.tree = u.tree AND x.number = u.number
        CROSS JOIN LATERAL (
            SELECT m.home, m.path_tokens FROM {s}.message m
            WHERE m.tree = u.tree AND m.pos = x.tip OFFSET 0
        ) m
        WHERE NOT x.closed AND m.home = x.home AND x.tip & 16777215 < 16777215 - cardinality(ids)
            AND (x.context IS NOT NULL OR x.overlays > 0) AND (
            SELECT f.pos FROM {s}.message f WHERE f.tree = u.tree AND f.pos = x.tip + 1
        ) IS NULL AND NOT (u.is_asked AND (x.fork > 0 OR EXISTS (
            SELECT 1 FROM {s}.message k WHERE k.tree = u.tree AND k.home = x.home AND k.id = u.id
        )))
    ), new AS MATERIALIZED (
        SELECT one.*, one.tip + row_number() OVER after_tip AS pos,
            one.running + sum(one.tokens) OVER after_tip AS path_tokens
        FROM one WHERE one.nth_of_id = 1
        WINDOW after_tip AS (PARTITION BY one.tree, one.number ORDER BY one.n)
    ), written AS (
        INSERT INTO {s}.message
            (tree, pos, home, tokens, path_tokens, created_at, id, role, body, words)
        SELECT new.tree, new.pos, new.home, new.tokens, new.path_tokens,
            coalesce(new.said, now_us), new.id, new.role, new.body,
            {s}.marked(new.words, new.owner, new.home)
        FROM new
    ), told AS (
        INSERT INTO {s}.change (owner, session, tree, kind, first, last, at)
        SELECT new.owner, new.number, new.tree, 1, new.pos, new.pos, now_us FROM new ORDER BY new.n
    ), moved AS (
        UPDATE {s}.session x SET tip = g.tip, context = x.context + g.tokens,
            messages = x.messages + g.messages, active_at = g.said, active_s = g.said / 1000000,
            updated_at = now_us
        FROM (
            SELECT new.tree, new.number, max(new.pos) AS tip, count(*) AS messages,
                sum(new.tokens)::bigint AS tokens,
                coalesce((array_agg(new.said ORDER BY new.pos DESC))[1], now_us) AS said
            FROM new GROUP BY new.tree, new.number
        ) g WHERE x.tree = g.tree AND x.number = g.number
    )
    SELECT coalesce(array_agg(new.n), '{}'), coalesce(array_agg(new.pos), '{}')
        INTO nths, starts FROM new;
    IF cardinality(nths) < cardinality(ids) THEN
        FOR n IN 1 .. cardinality(ids) LOOP
            CONTINUE WHEN n = ANY (nths);
            nths := nths || n::bigint;
            starts := starts || (SELECT a.start FROM {s}.append_one(
                owner_names[n], session_ids[n], now_us, are_asked[n], ids[n], roles[n],
                token_counts[n], said_us[n], bodies[n], word_lists[n]) a);
        END LOOP;
    END IF;
END $$;

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
    at record;
    s record;
    made bigint;
BEGIN
    SELECT d.tree, d.number, pg_advisory_xact_lock(hashtextextended('sapwood tree {s}', d.tree))
        INTO at FROM {s}.owner o JOIN {s}.directory d ON d.owner = o.number
        WHERE o.name = owner_name AND d.id = session_id;
    IF NOT FOUND THEN RETURN; END IF;
    -- Read now that nobody else can change it; a clear may have moved it to another tree.
    SELECT x.owner, x.tree, x.number, x.version INTO s
        FROM {s}.session x WHERE x.tree = at.tree AND x.number = at.number;
    IF NOT FOUND OR s.version <> record_version THEN RETURN; END IF;
    FOR n IN 1 .. cardinality(fence_keys) LOOP
        SELECT d.version INTO made FROM {s}.document d
        WHERE d.tree = s.tree AND d.session = s.number AND d.key = fence_keys[n];
        IF made IS DISTINCT FROM fence_versions[n] THEN RETURN; END IF;
    END LOOP;
    now_us := coalesce(at_us, {s}.now_us());
    -- Version 0 stands for one that is not there, or is expired.
    FOR n IN 1 .. cardinality(doc_keys) LOOP
        CONTINUE WHEN doc_versions[n] IS NULL;
        SELECT d.version, d.expires_at INTO at FROM {s}.document d
        WHERE d.tree = s.tree AND d.session = s.number AND d.key = doc_keys[n];
        IF doc_versions[n] <> coalesce(at.version, 0)
            AND NOT (doc_versions[n] = 0 AND coalesce(at.expires_at <= now_us, false))
        THEN RETURN; END IF;
    END LOOP;
    IF cardinality(ids) = 1 AND after_id IS NULL AND tip_id IS NULL
        AND NOT (after_root OR tip_root)
    THEN
        start := (SELECT a.start FROM {s}.append_one(
            owner_name, session_id, now_us, cardinality(asked) > 0, ids[1], roles[1],
            token_counts[1], said_us[1], bodies[1], word_lists[1]) a);
    ELSE
        start := (SELECT a.start FROM {s}.append(
            owner_name, session_id, now_us, asked, after_id, after_root, tip_id, tip_root,
            ids, roles, token_counts, said_us, bodies, word_lists) a);
    END IF;
    IF start IS NULL THEN RETURN; END IF;
    versions := '{}';
    FOR n IN 1 .. cardinality(doc_keys) LOOP
        made := 0;
        IF doc_values[n] IS NULL THEN
            DELETE FROM {s}.document d
            WHERE d.tree = s.tree AND d.session = s.number AND d.key = doc_keys[n];
        ELSE
            INSERT INTO {s}.document AS d
                (tree, session, key, version, updated_at, expires_at, value, inherit)
            VALUES (s.tree, s.number, doc_keys[n], nextval('{s}.document_version'), now_us,
                now_us + doc_expire_in_us[n], doc_values[n], doc_inherits[n])
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
    -- And tell the feed, as `tell_record` does.
    WITH changed AS (
        UPDATE {s}.session x SET version = x.version + 1, closed = coalesce(new_closed, x.closed),
            state = CASE WHEN 'state' = ANY (patched) THEN new_state ELSE x.state END,
            updated_at = now_us
        WHERE x.tree = s.tree AND x.number = s.number
        RETURNING x.owner, x.number, x.tree, x.version, x.id
    )
    INSERT INTO {s}.change (owner, session, tree, kind, first, last, at, name)
    SELECT c.owner, c.number, c.tree, 8, c.version, c.version, now_us, c.id FROM changed c;
    IF patched = '{}' THEN RETURN; END IF;
    IF 'tags' = ANY (patched) THEN
        PERFORM {s}.put_tags(s.owner, s.tree, s.number, new_tags);
    END IF;
    UPDATE {s}.profile p SET
        title = CASE WHEN 'title' = ANY (patched) THEN new_title ELSE p.title END,
        title_key = CASE WHEN 'title' = ANY (patched)
            THEN int8send(s.owner) || substr(new_title, 1, 80) ELSE p.title_key END,
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

-- Note that messages were changed: for the feed, for whoever made a summary of them, and in the
-- sums below them. At an end the running sum is put right in place.
CREATE OR REPLACE FUNCTION {s}.note_changes(
    of_tree bigint, of_session bigint, positions bigint[], deltas bigint[], of_kind int,
    at_us bigint
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    s {s}.session%ROWTYPE;
    place bigint;
    is_followed boolean;
BEGIN
    SELECT * INTO STRICT s FROM {s}.session x WHERE x.tree = of_tree AND x.number = of_session;
    FOR n IN 1 .. cardinality(positions) LOOP
        place := positions[n];
        INSERT INTO {s}.change (owner, session, tree, kind, first, last, at)
        VALUES (s.owner, of_session, s.tree, of_kind, place, place, at_us);
        is_followed := EXISTS (
            SELECT 1 FROM {s}.message m WHERE m.tree = s.tree AND m.pos = place + 1
        ) OR EXISTS (SELECT 1 FROM {s}.segment g WHERE g.tree = s.tree AND g.parent = place);
        IF NOT is_followed AND deltas[n] <> 0 THEN
            UPDATE {s}.message m SET path_tokens = m.path_tokens + deltas[n]
            WHERE m.tree = s.tree AND m.pos = place;
        END IF;
        INSERT INTO {s}.edit AS e VALUES (
            s.tree, place, CASE WHEN is_followed THEN deltas[n] ELSE 0 END,
            nextval('{s}.edit_number')
        ) ON CONFLICT (tree, pos) DO UPDATE
            SET delta = e.delta + excluded.delta, seq = excluded.seq;
        CONTINUE WHEN deltas[n] = 0;
        -- Others that may show it work out their sums when asked, or appended to. What nothing
        -- follows is only seen by forks that begin there.
        IF is_followed THEN
            UPDATE {s}.session x SET context = NULL
            WHERE x.tree = s.tree AND x.number <> of_session AND x.context IS NOT NULL;
        ELSE
            UPDATE {s}.session x SET context = NULL
            WHERE x.tree = s.tree AND x.fork = place AND x.fork > 0 AND x.number <> of_session
              AND x.context IS NOT NULL;
        END IF;
    END LOOP;
    UPDATE {s}.session x SET updated_at = at_us
    WHERE x.tree = s.tree AND x.number = of_session;
END $$;
