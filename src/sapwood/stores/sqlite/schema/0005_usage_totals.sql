-- What all of an owner's sessions cost, by model: the sums of `usage`, kept with each of its rows.
CREATE TABLE usage_total (
    owner            INTEGER NOT NULL,
    model            TEXT NOT NULL,
    calls            INTEGER NOT NULL,
    input_tokens     INTEGER NOT NULL,
    output_tokens    INTEGER NOT NULL,
    cached_tokens    INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    cost_micros      INTEGER NOT NULL,
    PRIMARY KEY (owner, model)
) STRICT, WITHOUT ROWID;

INSERT INTO usage_total
SELECT s.owner, u.model, count(*), sum(u.input_tokens), sum(u.output_tokens), sum(u.cached_tokens),
    sum(u.reasoning_tokens), sum(u.cost_micros)
FROM usage u JOIN session s ON s.number = u.session GROUP BY s.owner, u.model;
