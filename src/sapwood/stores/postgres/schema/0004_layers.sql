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
