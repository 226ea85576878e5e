-- Members: the register.
--
-- Ids are UUIDv7, made by the program and not by a sequence, so that the newest come last in the
-- primary key and the tables can be spread over several machines. Named constraints are part of
-- the interface: the program turns each into the error that a client sees.

CREATE TABLE members (
    id           uuid        PRIMARY KEY,
    -- The caller's own key.
    external_id  text        CONSTRAINT members_external_id_key UNIQUE,
    -- As typed (NFC), and folded: local part in lower case, domain as lower-case A-label.
    -- One mailbox, one member, whatever the spelling: only the folded form is unique.
    email        text,
    email_folded text        CONSTRAINT members_email_key UNIQUE,
    name         text        NOT NULL,
    birth        date,
    joined       date        NOT NULL,
    status       text        NOT NULL DEFAULT 'active',
    tags         text[]      NOT NULL DEFAULT '{}',
    attributes   jsonb       NOT NULL DEFAULT '{}',
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    version      bigint      NOT NULL DEFAULT 1,

    CONSTRAINT members_email_folded_check
        CHECK ((email IS NULL) = (email_folded IS NULL) AND email_folded = lower(email_folded COLLATE "C")),
    CONSTRAINT members_tags_check
        CHECK (array_position(tags, NULL) IS NULL),
    CONSTRAINT members_status_check
        CHECK (status IN ('pending', 'active', 'suspended', 'ended')),
    CONSTRAINT members_attributes_check
        CHECK (jsonb_typeof(attributes) = 'object'),
    -- A date or time that no client can read must not get in, by whatever way.
    CONSTRAINT members_times_check
        CHECK (
            (birth IS NULL OR birth BETWEEN '0001-01-01' AND '9999-12-31')
            AND joined BETWEEN '0001-01-01' AND '9999-12-31'
            AND created_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
            AND updated_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
        )
);

-- One index for each filter of the list; the list is ordered by id, newest first.
CREATE INDEX members_status_idx ON members (status, id);
CREATE INDEX members_joined_idx ON members (joined);
CREATE INDEX members_tags_idx ON members USING gin (tags);
