-- Suppressions: addresses that must not be mailed. Consents: what members said about marketing mail.
-- And, in each member's own row, what follows from both.

-- Addresses are known by a keyed hash, so that one can stay blocked when nothing is to be left of the
-- person who had it. The key is made here and lives with the data: every instance and every backup
-- has the same. HMAC-SHA256 (RFC 2104) takes it as two blocks, the key of each already in it.
CREATE TABLE address_keys (
    only_one  boolean PRIMARY KEY DEFAULT true CONSTRAINT address_keys_only_one CHECK (only_one),
    inner_pad bytea   NOT NULL,
    outer_pad bytea   NOT NULL,

    CONSTRAINT address_keys_length_check
        CHECK (octet_length(inner_pad) = 64 AND octet_length(outer_pad) = 64)
);

WITH random AS MATERIALIZED (
    -- Four UUIDs, whose 488 random bits come from the generator for secrets.
    SELECT string_agg(uuid_send(gen_random_uuid()), '') AS key FROM generate_series(1, 4)
)
INSERT INTO address_keys (inner_pad, outer_pad)
SELECT string_agg(set_byte('\x00', 0, get_byte(key, i) # 54), '' ORDER BY i),
       string_agg(set_byte('\x00', 0, get_byte(key, i) # 92), '' ORDER BY i)
FROM random, generate_series(0, 63) i;

CREATE FUNCTION address_hash(folded text) RETURNS bytea LANGUAGE sql STABLE STRICT
RETURN (
    SELECT sha256(outer_pad || sha256(inner_pad || convert_to(folded, 'UTF8'))) FROM address_keys
);

CREATE TABLE suppressions (
    id                    uuid        PRIMARY KEY,
    -- As typed; none once the member is deleted whom it belonged to.
    address               text,
    address_hash          bytea       NOT NULL,
    reason                text        NOT NULL,
    scope                 text        NOT NULL,
    origin                text        NOT NULL,
    -- No foreign key: mail records may be spread over several machines, this table stays whole.
    source_mail_record_id uuid,
    -- None: for ever.
    expires_at            timestamptz,
    created_at            timestamptz NOT NULL DEFAULT now(),
    updated_at            timestamptz NOT NULL DEFAULT now(),
    version               bigint      NOT NULL DEFAULT 1,

    CONSTRAINT suppressions_address_key UNIQUE (address_hash, reason, scope),
    CONSTRAINT suppressions_address_hash_check CHECK (octet_length(address_hash) = 32),
    CONSTRAINT suppressions_reason_check
        CHECK (reason IN ('hard_bounce', 'complaint', 'unsubscribe', 'manual', 'invalid')),
    CONSTRAINT suppressions_scope_check CHECK (scope IN ('all', 'marketing')),
    CONSTRAINT suppressions_origin_check CHECK (origin IN ('event', 'api', 'import')),
    CONSTRAINT suppressions_times_check
        CHECK (
            (expires_at IS NULL OR expires_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z')
            AND created_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
            AND updated_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
        )
);

-- The list, in both its orders, with each of its filters.
CREATE INDEX suppressions_created_at_idx ON suppressions (created_at, id);
CREATE INDEX suppressions_reason_idx ON suppressions (reason, id);
CREATE INDEX suppressions_reason_created_at_idx ON suppressions (reason, created_at, id);
CREATE INDEX suppressions_scope_idx ON suppressions (scope, id);
CREATE INDEX suppressions_scope_created_at_idx ON suppressions (scope, created_at, id);
CREATE INDEX suppressions_origin_idx ON suppressions (origin, id);
CREATE INDEX suppressions_origin_created_at_idx ON suppressions (origin, created_at, id);
-- For the sweep, and for the deletion of a member.
CREATE INDEX suppressions_expires_at_idx ON suppressions (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX suppressions_source_idx ON suppressions (source_mail_record_id)
    WHERE source_mail_record_id IS NOT NULL;

-- What members said about marketing mail. Nothing is ever changed or taken back: a later statement
-- counts instead of an earlier one.
CREATE TABLE consents (
    member_id   uuid        NOT NULL,
    id          uuid        NOT NULL,
    -- None: marketing mail as a whole.
    topic       text,
    -- By code point these stand from the mildest to the strictest, which decides between two of one time.
    state       text COLLATE "C" NOT NULL,
    source      text,
    evidence    jsonb       NOT NULL DEFAULT '{}',
    occurred_at timestamptz NOT NULL DEFAULT now(),
    created_at  timestamptz NOT NULL DEFAULT now(),

    PRIMARY KEY (member_id, id),
    CONSTRAINT consents_member_id_fkey FOREIGN KEY (member_id) REFERENCES members (id) ON DELETE CASCADE,
    CONSTRAINT consents_state_check CHECK (state IN ('granted', 'pending', 'withdrawn')),
    CONSTRAINT consents_evidence_check CHECK (jsonb_typeof(evidence) = 'object'),
    -- A statement of the future would count against all that are made until then. Clocks differ a little.
    CONSTRAINT consents_occurred_at_check CHECK (occurred_at <= created_at + interval '5 minutes'),
    CONSTRAINT consents_times_check
        CHECK (
            occurred_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
            AND created_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
        )
);

CREATE INDEX consents_created_at_idx ON consents (member_id, created_at, id);
CREATE INDEX consents_occurred_at_idx ON consents (member_id, occurred_at, id);

-- The statements that count: of those on one topic the newest, unless a newer one is on marketing mail
-- as a whole; and of these the newest.
CREATE VIEW present_consents AS
SELECT c.member_id, c.id, c.topic, c.state, c.occurred_at
FROM consents c
WHERE NOT EXISTS (
    SELECT FROM consents later
    WHERE later.member_id = c.member_id
        AND (later.topic IS NULL OR later.topic = c.topic)
        AND (later.occurred_at, later.state, later.id) > (c.occurred_at, c.state, c.id)
);

ALTER TABLE members
    ADD COLUMN email_hash bytea,
    -- Until when the address is suppressed, for all mail and for marketing; infinity if for ever.
    ADD COLUMN suppressed_until timestamptz,
    ADD COLUMN unsubscribed_until timestamptz,
    -- Marketing mail was refused, and no topic of it is left that was not.
    ADD COLUMN consent_withdrawn boolean NOT NULL DEFAULT false;

CREATE INDEX members_email_hash_idx ON members (email_hash);
-- The filter by mailability. All but the first are as near as an index comes that does not know the time.
CREATE INDEX members_no_address_idx ON members (id) WHERE email IS NULL;
CREATE INDEX members_suppressed_idx ON members (id) WHERE suppressed_until IS NOT NULL;
CREATE INDEX members_unsubscribed_idx ON members (id)
    WHERE unsubscribed_until IS NOT NULL OR consent_withdrawn;
CREATE INDEX members_mailable_idx ON members (id) WHERE email IS NOT NULL AND NOT consent_withdrawn;

-- Whether a member can be mailed, in one word: what weighs most.
CREATE FUNCTION mailability(member members) RETURNS text LANGUAGE sql STABLE
RETURN CASE
    WHEN (member).email IS NULL THEN 'no_address'
    WHEN (member).suppressed_until > now() THEN 'suppressed'
    WHEN (member).unsubscribed_until > now() OR (member).consent_withdrawn THEN 'unsubscribed'
    ELSE 'ok'
END;

-- When the last suppression of an address in a scope ends; infinity if one never does, null if there is
-- none.
CREATE FUNCTION suppression_end(hash bytea, of_scope text) RETURNS timestamptz LANGUAGE sql STABLE STRICT
RETURN (
    SELECT max(coalesce(expires_at, 'infinity'))
    FROM suppressions
    WHERE address_hash = hash AND scope = of_scope AND coalesce(expires_at, 'infinity') > now()
);

-- A member's row and the suppressions of her address are written by different transactions, neither of
-- which sees what the other has not committed. So those who give a member an address share a lock until
-- they have committed, and those who change what is suppressed hold it alone. Both functions look behind
-- the lock: each statement of a volatile function sees what was committed before it.

-- For the statement that gives a member an address.
CREATE FUNCTION blocked_until(folded text, of_scope text) RETURNS timestamptz LANGUAGE plpgsql VOLATILE STRICT AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(7, 0);
    RETURN (SELECT suppression_end(address_hash(folded), of_scope));
END $$;

-- For the transaction that changes what is suppressed, as its last statement.
CREATE FUNCTION refresh_mailability(hash bytea) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(7, 0);
    UPDATE members
    SET suppressed_until = suppression_end(hash, 'all'),
        unsubscribed_until = suppression_end(hash, 'marketing'),
        updated_at = greatest(updated_at, clock_timestamp()),
        version = version + 1
    WHERE email_hash = hash
        AND (suppressed_until, unsubscribed_until)
            IS DISTINCT FROM (suppression_end(hash, 'all'), suppression_end(hash, 'marketing'));
END $$;

UPDATE members SET email_hash = address_hash(email_folded) WHERE email_folded IS NOT NULL;

-- The ids that stand in an answer, by which those that tell of a deleted member are found. One that was
-- erased has no body.
ALTER TABLE idempotency_keys
    ADD COLUMN ids uuid[] NOT NULL DEFAULT '{}',
    ALTER COLUMN body DROP NOT NULL;
CREATE INDEX idempotency_keys_ids_idx ON idempotency_keys USING gin (ids);
