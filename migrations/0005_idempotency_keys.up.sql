-- Idempotency keys: the answers to the requests that carried one, for whoever sends one again.
--
-- A row is written in the transaction of what the request does: both are there, or neither is. That
-- a request is running is told by an advisory lock and not by a row, since a lock never outlives
-- its holder.

CREATE TABLE idempotency_keys (
    -- SHA-256 of caller, method, path and key: of one size, however long those are.
    scope       bytea       PRIMARY KEY,
    -- Who asked; empty as long as there are no access keys.
    caller      text        NOT NULL,
    -- SHA-256 of what was asked: the query, and the JSON of the body.
    fingerprint bytea       NOT NULL,
    -- The answer, as it is repeated. The header is a list of pairs of name and value.
    status      smallint    NOT NULL,
    header      jsonb       NOT NULL,
    body        bytea       NOT NULL,
    -- From then on the answer counts for nothing, swept away or not.
    expires_at  timestamptz NOT NULL
);

-- For the sweep.
CREATE INDEX idempotency_keys_expires_at_idx ON idempotency_keys (expires_at);
