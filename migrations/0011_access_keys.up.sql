-- Access keys: who may do what.

CREATE TABLE access_keys (
    id                   uuid        PRIMARY KEY,
    name                 text        NOT NULL,
    -- SHA-256 of the secret. That holds 256 random bits, which nobody guesses: a slow hash would add
    -- nothing but time to each request.
    secret_hash          bytea       NOT NULL,
    -- The secret before the last rotation, and until when it still opens.
    previous_secret_hash bytea,
    previous_valid_until timestamptz,
    scopes               text[]      NOT NULL,
    created_at           timestamptz NOT NULL DEFAULT now(),
    -- None: for ever.
    expires_at           timestamptz,
    revoked_at           timestamptz,
    -- To the minute, and no part of the version.
    last_used_at         timestamptz,
    updated_at           timestamptz NOT NULL DEFAULT now(),
    version              bigint      NOT NULL DEFAULT 1,

    CONSTRAINT access_keys_secret_hash_check CHECK (octet_length(secret_hash) = 32),
    CONSTRAINT access_keys_previous_check
        CHECK (
            (previous_secret_hash IS NULL) = (previous_valid_until IS NULL)
            AND octet_length(previous_secret_hash) = 32
        ),
    CONSTRAINT access_keys_scopes_check
        CHECK (
            cardinality(scopes) > 0
            AND scopes <@ ARRAY[
                'members:read', 'members:write', 'members:delete', 'mail:read', 'mail:write', 'mail:delete',
                'suppressions:read', 'suppressions:write', 'privacy', 'admin'
            ]
        ),
    CONSTRAINT access_keys_times_check
        CHECK (
            (previous_valid_until IS NULL
                OR previous_valid_until BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z')
            AND created_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
            AND (expires_at IS NULL OR expires_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z')
            AND (revoked_at IS NULL OR revoked_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z')
            AND (last_used_at IS NULL
                OR last_used_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z')
            AND updated_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
        )
);

CREATE INDEX access_keys_created_at_idx ON access_keys (created_at, id);
