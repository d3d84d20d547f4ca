-- {s} stands for the schema. Positions are packed into one integer, segment << 24 | depth, so that
-- a path is a handful of ranges; 0 stands for the root. Times are microseconds since 1970. Text
-- that clients choose is compared byte by byte; what may hold a NUL is bytea.
--
-- Every table but the directory's (owner, directory, reader) has the tree in its primary key and
-- in all that is unique, so that it can be partitioned or distributed by it: where that is asked
-- for, it is said in the place that {by_tree} keeps. What belongs to an owner and to no tree is placed by the
-- owner's number below zero, where no tree is.

CREATE SEQUENCE {s}.home_number;        -- of homes, and of trees, which are named by a home
CREATE SEQUENCE {s}.session_number;
CREATE SEQUENCE {s}.usage_number;
CREATE SEQUENCE {s}.segment_number;
CREATE SEQUENCE {s}.overlay_number;
CREATE SEQUENCE {s}.edit_number;
CREATE SEQUENCE {s}.change_number;
CREATE SEQUENCE {s}.document_version;

CREATE TABLE {s}.owner (
    number      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text COLLATE "C" NOT NULL UNIQUE,
    trimmed_xid bigint NOT NULL DEFAULT 0,      -- the last change that was trimmed from the feed
    trimmed_seq bigint NOT NULL DEFAULT 0
);

-- Where each session is.
CREATE TABLE {s}.directory (
    owner       bigint NOT NULL,
    id          text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    tree        bigint NOT NULL,            -- another one after a clear
    PRIMARY KEY (owner, id)
);
CREATE INDEX directory_by_number ON {s}.directory (number);

CREATE TABLE {s}.session (
    tree        bigint NOT NULL,
    number      bigint NOT NULL,
    owner       bigint NOT NULL,
    id          text COLLATE "C" NOT NULL,
    home        bigint NOT NULL,            -- what its messages carry; a new one after a clear
    tip         bigint NOT NULL DEFAULT 0,
    fork        bigint NOT NULL DEFAULT 0,  -- the position it was forked at, or 0
    context     bigint DEFAULT 0,           -- tokens shown at the tip; NULL: to be worked out
    messages    bigint NOT NULL DEFAULT 0,
    overlays    bigint NOT NULL DEFAULT 0,  -- how many are in force
    version     bigint NOT NULL DEFAULT 1,
    created_at  bigint NOT NULL,
    active_at   bigint NOT NULL,
    active_s    bigint NOT NULL,            -- the second of active_at, so that its index rests
    is_to_sum   boolean GENERATED ALWAYS AS (context IS NULL) STORED,   -- for its index, as well
    PRIMARY KEY (tree, number),
    UNIQUE (tree, home)
) {by_tree};
CREATE INDEX session_by_activity ON {s}.session (owner, active_s, number);
CREATE INDEX session_by_age ON {s}.session (owner, number);
CREATE INDEX session_by_fork ON {s}.session (tree, fork) WHERE fork > 0;
CREATE INDEX session_to_sum ON {s}.session (tree) WHERE is_to_sum;

-- What only changes when somebody changes it.
CREATE TABLE {s}.profile (
    tree        bigint NOT NULL,
    session     bigint NOT NULL,
    title       bytea,
    state       text COLLATE "C" NOT NULL,
    tags        text[] COLLATE "C" NOT NULL,
    budget      bigint,
    parent_kind text,
    parent      text COLLATE "C",
    data        bytea NOT NULL,
    PRIMARY KEY (tree, session)
) {by_tree};
CREATE INDEX profile_by_parent ON {s}.profile (parent) WHERE parent IS NOT NULL;

-- The homes on the path to a session's fork point: where else its ids may be.
CREATE TABLE {s}.inherited (
    tree        bigint NOT NULL,
    session     bigint NOT NULL,
    home        bigint NOT NULL,
    PRIMARY KEY (tree, session, home)
) {by_tree};
CREATE INDEX inherited_by_home ON {s}.inherited (tree, home);

CREATE TABLE {s}.segment (
    tree        bigint NOT NULL,
    number      bigint NOT NULL,
    home        bigint NOT NULL,
    parent      bigint NOT NULL,            -- the position it follows
    lineage     bigint[] NOT NULL,          -- the nearest 64 positions on the way to the root
    PRIMARY KEY (tree, number)
) {by_tree};
CREATE INDEX segment_by_parent ON {s}.segment (tree, parent);
CREATE INDEX segment_by_home ON {s}.segment (tree, home);

-- A message without a body was deleted: its position and id stay. The digest of what was first
-- appended is only kept where the body was changed since: else the body tells. The words are
-- those of its text, and who may find it: _o and the owner's number, _h and the home's.
CREATE TABLE {s}.message (
    tree        bigint NOT NULL,
    pos         bigint NOT NULL,
    home        bigint NOT NULL,
    tokens      bigint NOT NULL,
    path_tokens bigint NOT NULL,            -- the sum from the root as it was when appended
    version     bigint NOT NULL DEFAULT 1,
    created_at  bigint NOT NULL,
    id          text COLLATE "C" NOT NULL,
    role        text COLLATE "C" NOT NULL,
    digest      bytea,
    body        bytea,
    words       tsvector,
    PRIMARY KEY (tree, pos)
) {by_tree};
CREATE UNIQUE INDEX message_by_id ON {s}.message (tree, home, id);
CREATE INDEX message_by_word ON {s}.message USING gin (words);

-- Messages changed after they were appended: what to add to path_tokens below, and when.
CREATE TABLE {s}.edit (
    tree        bigint NOT NULL,
    pos         bigint NOT NULL,
    delta       bigint NOT NULL,
    seq         bigint NOT NULL,
    PRIMARY KEY (tree, pos)
) {by_tree};
CREATE INDEX edit_by_seq ON {s}.edit (tree, seq);

CREATE TABLE {s}.overlay (
    tree           bigint NOT NULL,
    number         bigint NOT NULL,
    id             text COLLATE "C" NOT NULL,
    first          bigint NOT NULL,
    last           bigint NOT NULL,
    tokens         bigint NOT NULL,
    covered_tokens bigint NOT NULL,
    created_by     text COLLATE "C" NOT NULL,
    created_at     bigint NOT NULL,
    metadata       bytea NOT NULL,
    summary        bytea NOT NULL,
    words          tsvector,
    PRIMARY KEY (tree, number),
    UNIQUE (tree, id)
) {by_tree};
CREATE INDEX overlay_by_word ON {s}.overlay USING gin (words);

-- Read backwards, the first row at or before a position of a segment is the overlay to show.
CREATE TABLE {s}.in_force (
    tree        bigint NOT NULL,
    session     bigint NOT NULL,
    last        bigint NOT NULL,
    width       bigint NOT NULL,            -- the depth of its first message, below zero
    overlay     bigint NOT NULL,
    PRIMARY KEY (tree, session, last, width, overlay)
) {by_tree};
CREATE INDEX in_force_by_overlay ON {s}.in_force (tree, overlay);

-- Session 0 is the owner itself, placed by its number below zero.
CREATE TABLE {s}.document (
    tree        bigint NOT NULL,
    session     bigint NOT NULL,
    key         text COLLATE "C" NOT NULL,
    version     bigint NOT NULL,
    updated_at  bigint NOT NULL,
    expires_at  bigint,
    value       bytea NOT NULL,
    PRIMARY KEY (tree, session, key)
) {by_tree};

CREATE TABLE {s}.usage (
    tree             bigint NOT NULL,
    session          bigint NOT NULL,
    id               text COLLATE "C" NOT NULL,
    number           bigint NOT NULL DEFAULT nextval('{s}.usage_number'),
    model            text COLLATE "C" NOT NULL,
    message          text COLLATE "C",
    input_tokens     bigint NOT NULL,
    output_tokens    bigint NOT NULL,
    cached_tokens    bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    cost_micros      bigint NOT NULL,
    PRIMARY KEY (tree, session, id)
) {by_tree};

-- The transaction's number orders the feed: a reader stops before the oldest that is unfinished.
CREATE TABLE {s}.change (
    owner       bigint NOT NULL,
    xid         bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    seq         bigint NOT NULL DEFAULT nextval('{s}.change_number'),
    session     bigint NOT NULL,
    tree        bigint NOT NULL,
    kind        smallint NOT NULL,
    first       bigint NOT NULL,
    last        bigint NOT NULL,
    at          bigint NOT NULL,
    name        text COLLATE "C",           -- of a session that is retired
    PRIMARY KEY (owner, xid, seq, tree)
) {by_tree};

CREATE TABLE {s}.reader (
    owner       bigint NOT NULL,
    name        text COLLATE "C" NOT NULL,
    xid         bigint NOT NULL,
    seq         bigint NOT NULL,
    PRIMARY KEY (owner, name)
);

-- Work that is left to be done: segments to cut or delete.
CREATE TABLE {s}.sweep (
    tree        bigint NOT NULL,
    segment     bigint NOT NULL,
    PRIMARY KEY (tree, segment)
) {by_tree};

CREATE FUNCTION {s}.now_us() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;

-- All that changes a tree is done one after the other; the lock is let go at the commit.
CREATE FUNCTION {s}.lock_tree(of_tree bigint) RETURNS void LANGUAGE sql VOLATILE AS
$$ SELECT pg_advisory_xact_lock(hashtextextended('sapwood tree {s}', of_tree)) $$;

CREATE FUNCTION {s}.lock_owner(of_owner bigint) RETURNS void LANGUAGE sql VOLATILE AS
$$ SELECT pg_advisory_xact_lock(hashtextextended('sapwood owner {s}', of_owner)) $$;

CREATE FUNCTION {s}.lineage_of(of_tree bigint, of_segment bigint) RETURNS bigint[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_lineage bigint[];
BEGIN
    SELECT g.lineage INTO found_lineage FROM {s}.segment g
    WHERE g.tree = of_tree AND g.number = of_segment;
    IF found_lineage IS NULL THEN
        RAISE EXCEPTION 'segment % is missing', of_segment USING ERRCODE = 'SW001';
    END IF;
    RETURN found_lineage;
END $$;

-- Whether a position lies on the path to a leaf.
CREATE FUNCTION {s}.is_on_path(of_tree bigint, of_pos bigint, leaf bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    at bigint := leaf;
    above bigint[];
    place bigint;
BEGIN
    IF at = 0 OR (of_pos & 16777215) > (leaf & 16777215) THEN
        RETURN false;
    END IF;
    LOOP
        IF at >> 24 = of_pos >> 24 THEN
            RETURN of_pos <= at;
        END IF;
        above := {s}.lineage_of(of_tree, at >> 24);
        FOREACH place IN ARRAY above LOOP
            IF place >> 24 = of_pos >> 24 THEN
                RETURN of_pos <= place;
            END IF;
        END LOOP;
        IF cardinality(above) < 64 THEN
            RETURN false;
        END IF;
        at := above[64];
    END LOOP;
END $$;

-- The position that a position follows; 0 for the root.
CREATE FUNCTION {s}.parent_of(of_tree bigint, of_pos bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN (of_pos & 16777215) > (g.parent & 16777215) + 1 THEN of_pos - 1
                ELSE g.parent END
    FROM {s}.segment g WHERE g.tree = of_tree AND g.number = of_pos >> 24
$$;

-- What is shown at a leaf, from the leaf upwards: spans of messages and, for a session that is
-- given, overlays. Each overlay is found by a seek, so that the cost is that of what is shown.
CREATE FUNCTION {s}.visible(of_tree bigint, of_session bigint, leaf bigint)
RETURNS TABLE (first bigint, last bigint, cover bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
    at bigint := leaf;
    above bigint[];
    size int;
    step int;
    up bigint;
    start bigint;
    deepest record;
BEGIN
    WHILE at > 0 LOOP
        above := {s}.lineage_of(of_tree, at >> 24);
        size := cardinality(above);
        step := 1;
        LOOP
            EXIT WHEN at = 0 OR (step > size AND size = 64);
            up := CASE WHEN step <= size THEN above[step] ELSE 0 END;
            start := (at >> 24 << 24) | ((up & 16777215) + 1);
            IF of_session IS NOT NULL THEN
                SELECT f.last, f.overlay INTO deepest FROM {s}.in_force f
                WHERE f.tree = of_tree AND f.session = of_session AND f.last BETWEEN start AND at
                ORDER BY f.last DESC, f.width DESC, f.overlay DESC LIMIT 1;
                IF FOUND THEN
                    IF deepest.last < at THEN
                        first := deepest.last + 1; last := at; cover := NULL;
                        RETURN NEXT;
                    END IF;
                    SELECT o.first, o.last, o.number INTO first, last, cover FROM {s}.overlay o
                    WHERE o.tree = of_tree AND o.number = deepest.overlay;
                    RETURN NEXT;
                    at := {s}.parent_of(of_tree, first);
                    EXIT;
                END IF;
            END IF;
            first := start; last := at; cover := NULL;
            RETURN NEXT;
            at := up;
            step := step + 1;
        END LOOP;
    END LOOP;
END $$;

-- The tokens on a path, or the part of them that a session is shown, without its pins.
CREATE FUNCTION {s}.context_at(of_tree bigint, of_session bigint, leaf bigint, pins bigint[])
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    item record;
    total bigint := 0;
    open_end bigint := 0;
    any_edit boolean := EXISTS (SELECT 1 FROM {s}.edit e WHERE e.tree = of_tree);
BEGIN
    FOR item IN SELECT v.first, v.last, v.cover FROM {s}.visible(of_tree, of_session, leaf) v LOOP
        IF item.cover IS NULL THEN
            open_end := CASE WHEN open_end = 0 THEN item.last ELSE open_end END;
            IF any_edit THEN
                total := total + {s}.deltas_between(of_tree, item.first, item.last);
            END IF;
        ELSE
            IF open_end > 0 THEN
                total := total + {s}.path_tokens_at(of_tree, open_end)
                    - {s}.path_tokens_at(of_tree, item.last);
                open_end := 0;
            END IF;
            total := total
                + (SELECT o.tokens FROM {s}.overlay o
                   WHERE o.tree = of_tree AND o.number = item.cover)
                + (SELECT coalesce(sum(m.tokens), 0)
                   FROM unnest({s}.pins_under(of_tree, pins, item.first, item.last)) p(pos)
                   JOIN {s}.message m ON m.tree = of_tree AND m.pos = p.pos);
        END IF;
    END LOOP;
    RETURN total + {s}.path_tokens_at(of_tree, open_end);
END $$;

-- Those of the pinned positions that an overlay covers, by depth.
CREATE FUNCTION {s}.pins_under(of_tree bigint, pins bigint[], first bigint, last bigint)
RETURNS bigint[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(p.pos ORDER BY p.pos & 16777215), '{}')
    FROM (SELECT DISTINCT u.pos FROM unnest(pins) u(pos)) p
    WHERE p.pos & 16777215 BETWEEN first & 16777215 AND last & 16777215
      AND {s}.is_on_path(of_tree, p.pos, last)
$$;

CREATE FUNCTION {s}.deltas_between(of_tree bigint, first bigint, last bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT coalesce(sum(e.delta), 0)::bigint FROM {s}.edit e
    WHERE e.tree = of_tree AND e.pos BETWEEN first AND last
$$;

CREATE FUNCTION {s}.path_tokens_at(of_tree bigint, of_pos bigint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    running bigint;
BEGIN
    IF of_pos = 0 THEN
        RETURN 0;
    END IF;
    SELECT m.path_tokens INTO running FROM {s}.message m WHERE m.tree = of_tree AND m.pos = of_pos;
    IF running IS NULL THEN
        RAISE EXCEPTION 'the message at position % is missing', of_pos USING ERRCODE = 'SW001';
    END IF;
    RETURN running;
END $$;

-- The live and deleted messages, by their ids, that a session sees: its own, and those on the
-- path to its fork point.
CREATE FUNCTION {s}.seen(
    of_tree bigint, of_session bigint, of_home bigint, of_fork bigint, ids text[]
) RETURNS TABLE (id text, pos bigint, home bigint, is_live boolean)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- One look for each id, by itself: with ANY, a plan may look through all of a home's.
    RETURN QUERY SELECT u.id, m.pos, of_home, m.is_live
        FROM unnest(ids) u(id) CROSS JOIN LATERAL (
            SELECT o.pos, o.body IS NOT NULL AS is_live FROM {s}.message o
            WHERE o.tree = of_tree AND o.home = of_home AND o.id = u.id OFFSET 0
        ) m;
    IF of_fork > 0 THEN
        RETURN QUERY SELECT u.id, m.pos, i.home, m.is_live
            FROM {s}.inherited i CROSS JOIN unnest(ids) u(id) CROSS JOIN LATERAL (
                SELECT o.pos, o.body IS NOT NULL AS is_live FROM {s}.message o
                WHERE o.tree = of_tree AND o.home = i.home AND o.id = u.id OFFSET 0
            ) m
            WHERE i.tree = of_tree AND i.session = of_session
              AND {s}.is_on_path(of_tree, m.pos, of_fork);
    END IF;
END $$;

-- The live messages of ranges of positions, one range after the other, up to a limit.
CREATE FUNCTION {s}.in_ranges(
    of_tree bigint, firsts bigint[], lasts bigint[], backwards boolean, most bigint
) RETURNS TABLE (
    pos bigint, home bigint, id text, role text, tokens bigint, version bigint,
    created_at bigint, body bytea
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    room bigint := most;
    taken bigint;
BEGIN
    FOR n IN 1 .. cardinality(firsts) LOOP
        IF backwards THEN
            RETURN QUERY SELECT m.pos, m.home, m.id, m.role, m.tokens, m.version, m.created_at,
                m.body FROM {s}.message m
                WHERE m.tree = of_tree AND m.pos BETWEEN firsts[n] AND lasts[n]
                  AND m.body IS NOT NULL ORDER BY m.pos DESC LIMIT room;
        ELSE
            RETURN QUERY SELECT m.pos, m.home, m.id, m.role, m.tokens, m.version, m.created_at,
                m.body FROM {s}.message m
                WHERE m.tree = of_tree AND m.pos BETWEEN firsts[n] AND lasts[n]
                  AND m.body IS NOT NULL ORDER BY m.pos LIMIT room;
        END IF;
        IF most IS NOT NULL THEN
            GET DIAGNOSTICS taken = ROW_COUNT;
            room := room - taken;
            EXIT WHEN room <= 0;
        END IF;
    END LOOP;
END $$;

-- A message's words, with those that say who may find it.
CREATE FUNCTION {s}.marked(words text, of_owner bigint, of_home bigint) RETURNS tsvector
LANGUAGE sql STABLE AS
$$ SELECT (words || ' _o' || of_owner || ' _h' || of_home)::tsvector $$;

-- Begin a segment under a position, and give its number.
CREATE FUNCTION {s}.new_segment(of_tree bigint, of_home bigint, parent_pos bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    made bigint := nextval('{s}.segment_number');
    above bigint[] := '{}';
BEGIN
    IF parent_pos > 0 THEN
        above := parent_pos || ({s}.lineage_of(of_tree, parent_pos >> 24))[1:63];
    END IF;
    INSERT INTO {s}.segment VALUES (of_tree, made, of_home, parent_pos, above);
    RETURN made;
END $$;

-- Write messages after a position, for a session whose tree is locked: in the slots after it if
-- they are free and the session's own, else in a new segment. Gives the first position.
CREATE FUNCTION {s}.write_after(
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
        active_at = active, active_s = active / 1000000
    WHERE x.tree = of_tree AND x.number = of_session;
    RETURN start;
END $$;

-- Append what is new, whole, in one call. Gives no position, and writes nothing, when an id is
-- known, the tip is not the expected one, or a parent is not there: then it is to be planned.
CREATE FUNCTION {s}.append(
    owner_name text, session_id text, at_us bigint, asked text[],
    after_id text, after_root boolean, tip_id text, tip_root boolean,
    ids text[], roles text[], token_counts bigint[], said_us bigint[], bodies bytea[],
    word_lists text[], OUT start bigint, OUT now_us bigint
) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    s {s}.session%ROWTYPE;
    tip_name text;
    after_pos bigint;
BEGIN
    SELECT * INTO s FROM {s}.locked_session(owner_name, session_id);
    IF NOT FOUND OR (cardinality(asked) > 0 AND EXISTS (
        SELECT 1 FROM {s}.seen(s.tree, s.number, s.home, s.fork, asked)
    )) THEN RETURN; END IF;
    IF tip_id IS NOT NULL THEN
        SELECT m.id INTO tip_name FROM {s}.message m WHERE m.tree = s.tree AND m.pos = s.tip;
    END IF;
    IF (tip_root AND s.tip <> 0) OR tip_name IS DISTINCT FROM tip_id THEN RETURN; END IF;
    after_pos := s.tip;
    IF after_root THEN
        after_pos := 0;
    ELSIF after_id IS NOT NULL THEN
        SELECT f.pos INTO after_pos
        FROM {s}.seen(s.tree, s.number, s.home, s.fork, ARRAY[after_id]) f;
        IF NOT FOUND THEN RETURN; END IF;
    END IF;
    IF (after_pos & 16777215) + cardinality(ids) > 16777215 THEN RETURN; END IF;
    now_us := coalesce(at_us, {s}.now_us());
    start := {s}.write_after(s.tree, s.number, after_pos, now_us, ids, roles, token_counts,
        said_us, bodies, word_lists);
END $$;

-- The same for one message after the tip, as nearly every append is: nearly always that is the
-- session's own and nothing follows it, which takes few statements, and values instead of arrays.
CREATE FUNCTION {s}.append_one(
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
    SELECT x.owner, x.home, x.fork, x.tip, m.home AS tip_home, m.path_tokens AS running,
            x.context IS NULL AND x.overlays = 0 AS is_to_sum, EXISTS (
            SELECT 1 FROM {s}.message f WHERE f.tree = at.tree AND f.pos = x.tip + 1) AS is_followed
        INTO s FROM {s}.session x LEFT JOIN LATERAL (
            -- By itself, so that it is looked up by its position: in a join, a plan that is made
            -- while the table is small looks through the tree, and goes on to do so.
            SELECT m.home, m.path_tokens FROM {s}.message m
            WHERE m.tree = at.tree AND m.pos = x.tip OFFSET 0
        ) m ON true
        WHERE x.tree = at.tree AND x.number = at.number;
    IF NOT FOUND OR (is_asked AND EXISTS (
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
            messages = x.messages + 1, active_at = said, active_s = said / 1000000
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
CREATE FUNCTION {s}.append_each(
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
        WHERE m.home = x.home AND x.tip & 16777215 < 16777215 - cardinality(ids)
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
            messages = x.messages + g.messages, active_at = g.said, active_s = g.said / 1000000
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

-- A session, with its tree locked against all others that would change it.
CREATE FUNCTION {s}.locked_session(owner_name text, session_id text) RETURNS SETOF {s}.session
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    s {s}.session%ROWTYPE;
    locked bigint := 0;
BEGIN
    LOOP
        SELECT x.* INTO s FROM {s}.owner o JOIN {s}.directory d ON d.owner = o.number
        JOIN {s}.session x ON x.tree = d.tree AND x.number = d.number
        WHERE o.name = owner_name AND d.id = session_id;
        IF NOT FOUND THEN
            RETURN;
        ELSIF s.tree = locked THEN
            RETURN NEXT s;
            RETURN;
        END IF;
        -- A clear may have moved it to another tree before the lock was had.
        PERFORM {s}.lock_tree(s.tree);
        locked := s.tree;
    END LOOP;
END $$;

-- Note that messages were changed: for the feed, for whoever made a summary of them, and in the
-- sums below them. At an end the running sum is put right in place.
CREATE FUNCTION {s}.note_changes(
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
END $$;

-- Delete those of the overlays that no session has in force.
CREATE FUNCTION {s}.drop_unused(of_tree bigint, numbers bigint[]) RETURNS void
LANGUAGE sql VOLATILE AS $$
    DELETE FROM {s}.overlay o WHERE o.tree = of_tree AND o.number = ANY (numbers)
    AND NOT EXISTS (SELECT 1 FROM {s}.in_force f WHERE f.tree = of_tree AND f.overlay = o.number)
$$;

-- The session through which a message (or with is_summary an overlay) is told of: its home, or if
-- that is gone the oldest that stands on it; NULL when it is out of scope. The scope is an owner,
-- and with only_session what that one sees.
CREATE FUNCTION {s}.told_as(
    is_summary boolean, of_tree bigint, of_key bigint, of_home bigint, of_owner bigint,
    only_session bigint, only_tree bigint, only_home bigint, only_fork bigint
) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    teller bigint;
BEGIN
    IF is_summary THEN
        SELECT s.number INTO teller FROM {s}.in_force f JOIN {s}.session s
            ON s.tree = f.tree AND s.number = f.session
        WHERE f.tree = of_tree AND f.overlay = of_key AND s.owner = of_owner
          AND (only_session IS NULL OR s.number = only_session)
        ORDER BY s.number LIMIT 1;
        RETURN teller;
    END IF;
    IF only_session IS NOT NULL AND (of_tree <> only_tree OR (
        of_home <> only_home AND NOT {s}.is_on_path(of_tree, of_key, only_fork)
    )) THEN
        RETURN NULL;
    END IF;
    SELECT s.number INTO teller FROM {s}.session s
    WHERE s.tree = of_tree AND s.home = of_home AND s.owner = of_owner;
    IF NOT FOUND THEN
        SELECT s.number INTO teller FROM {s}.inherited i JOIN {s}.session s
            ON s.tree = i.tree AND s.number = i.session
        WHERE i.tree = of_tree AND i.home = of_home AND s.owner = of_owner
          AND {s}.is_on_path(of_tree, of_key, s.fork)
        ORDER BY s.number LIMIT 1;
    END IF;
    RETURN teller;
END $$;

-- A whole read in one call, and so in one snapshot. The first row is about the read: the leaf, the
-- snapshot, the context, and the ids of leaf and tip; then come the entries, messages (kind 1), also
-- deleted ones, without a body, and overlays (kind 2). There is no row when the session is not
-- there, and one of kind -1 when the leaf is not, or when there are pins, which are not for the
-- server to read.
CREATE FUNCTION {s}.read_path(
    owner_name text, session_id text, leaf_id text, leaf_root boolean, with_overlays boolean,
    after_depth bigint, before_depth bigint, backwards boolean, most bigint
) RETURNS TABLE (
    kind int, pos bigint, last bigint, home text, id text, role text, tokens bigint,
    version bigint, created_at bigint, body bytea, metadata bytea
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    s {s}.session%ROWTYPE;
    leaf bigint;
    shown record;
    room bigint := most;
    taken bigint;
    low bigint;
    high bigint;
BEGIN
    SELECT x.* INTO s FROM {s}.owner o JOIN {s}.directory d ON d.owner = o.number
    JOIN {s}.session x ON x.tree = d.tree AND x.number = d.number
    WHERE o.name = owner_name AND d.id = session_id;
    IF NOT FOUND THEN RETURN; END IF;
    kind := 0;
    leaf := CASE WHEN leaf_root THEN 0 ELSE s.tip END;
    IF leaf_id IS NOT NULL THEN
        SELECT f.pos INTO leaf FROM {s}.seen(s.tree, s.number, s.home, s.fork, ARRAY[leaf_id]) f;
        IF NOT FOUND THEN kind := -1; END IF;
    END IF;
    IF s.overlays > 0 AND EXISTS (
        SELECT 1 FROM {s}.document d
        WHERE d.tree = s.tree AND d.session = s.number AND d.key = 'pins'
    ) THEN
        kind := -1;
    END IF;
    IF kind = -1 THEN
        RETURN NEXT;
        RETURN;
    END IF;
    pos := leaf;
    version := coalesce((SELECT max(e.seq) FROM {s}.edit e WHERE e.tree = s.tree), 0);
    IF leaf = s.tip THEN
        tokens := s.context;
    END IF;
    IF tokens IS NULL THEN
        tokens := {s}.context_at(
            s.tree, CASE WHEN s.overlays > 0 THEN s.number END, leaf, '{}');
    END IF;
    SELECT m.id INTO id FROM {s}.message m WHERE m.tree = s.tree AND m.pos = leaf;
    role := id;
    IF leaf <> s.tip THEN
        SELECT m.id INTO role FROM {s}.message m WHERE m.tree = s.tree AND m.pos = s.tip;
    END IF;
    RETURN NEXT;
    FOR shown IN
        SELECT v.first, v.last, v.cover FROM {s}.visible(
            s.tree, CASE WHEN with_overlays AND s.overlays > 0 THEN s.number END, leaf
        ) WITH ORDINALITY v(first, last, cover, n)
        ORDER BY CASE WHEN backwards THEN v.n ELSE -v.n END
    LOOP
        IF shown.cover IS NOT NULL THEN
            CONTINUE WHEN shown.last & 16777215 <= after_depth
                OR shown.first & 16777215 >= before_depth;
            RETURN QUERY SELECT 2, o.first, o.last, o.created_by, o.id, NULL, o.tokens,
                o.covered_tokens, o.created_at, o.summary, o.metadata
                FROM {s}.overlay o WHERE o.tree = s.tree AND o.number = shown.cover;
        ELSE
            low := greatest(shown.first & 16777215, after_depth + 1);
            high := least(shown.last & 16777215, before_depth - 1);
            CONTINUE WHEN low > high;
            low := shown.last >> 24 << 24 | low;
            high := shown.last >> 24 << 24 | high;
            IF backwards THEN
                RETURN QUERY SELECT 1, m.pos, 0::bigint, CASE WHEN m.home = s.home THEN s.id ELSE (
                        SELECT h.id FROM {s}.session h
                        WHERE h.tree = m.tree AND h.home = m.home) END,
                    m.id, m.role, m.tokens, m.version, m.created_at, m.body, NULL::bytea
                    FROM {s}.message m WHERE m.tree = s.tree AND m.pos BETWEEN low AND high
                    ORDER BY m.pos DESC LIMIT room;
            ELSE
                RETURN QUERY SELECT 1, m.pos, 0::bigint, CASE WHEN m.home = s.home THEN s.id ELSE (
                        SELECT h.id FROM {s}.session h
                        WHERE h.tree = m.tree AND h.home = m.home) END,
                    m.id, m.role, m.tokens, m.version, m.created_at, m.body, NULL::bytea
                    FROM {s}.message m WHERE m.tree = s.tree AND m.pos BETWEEN low AND high
                    ORDER BY m.pos LIMIT room;
            END IF;
        END IF;
        GET DIAGNOSTICS taken = ROW_COUNT;
        room := room - taken;
        EXIT WHEN room <= 0;
    END LOOP;
END $$;
