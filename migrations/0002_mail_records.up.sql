-- Mail records: the ledger, one message to one recipient in each row.
--
-- Keyed by member first: one member's history is one range of the primary key, and the table can
-- be spread by member_id with no change. Every unique key therefore holds member_id.

CREATE TABLE mail_records (
    id                  uuid        NOT NULL,
    member_id           uuid        NOT NULL,
    -- The address as it was when the mail was sent, whatever becomes of the member's.
    recipient           text,
    recipient_folded    text,
    sender              text,
    subject             text        NOT NULL,
    category            text        NOT NULL DEFAULT 'transactional',
    tags                text[]      NOT NULL DEFAULT '{}',
    metadata            jsonb       NOT NULL DEFAULT '{}',
    message_id          text,
    provider            text,
    provider_message_id text,
    external_id         text,
    retry_of            uuid,
    status              text        NOT NULL DEFAULT 'recorded',
    status_at           timestamptz NOT NULL DEFAULT now(),
    status_reason       text,
    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz NOT NULL DEFAULT now(),
    version             bigint      NOT NULL DEFAULT 1,

    PRIMARY KEY (member_id, id),
    CONSTRAINT mail_records_member_id_fkey
        FOREIGN KEY (member_id) REFERENCES members (id) ON DELETE CASCADE,
    -- A retry points at a record of the same member, and outlives it.
    CONSTRAINT mail_records_retry_of_fkey
        FOREIGN KEY (member_id, retry_of) REFERENCES mail_records (member_id, id)
        ON DELETE SET NULL (retry_of),
    CONSTRAINT mail_records_external_id_key UNIQUE (member_id, external_id),

    -- Not by NOT NULL, which has no name: a member without an address needs a recipient given.
    CONSTRAINT mail_records_recipient_required
        CHECK (recipient IS NOT NULL AND recipient_folded IS NOT NULL),
    CONSTRAINT mail_records_recipient_folded_check
        CHECK (recipient_folded = lower(recipient_folded COLLATE "C")),
    CONSTRAINT mail_records_category_check
        CHECK (category IN ('transactional', 'marketing')),
    CONSTRAINT mail_records_tags_check
        CHECK (array_position(tags, NULL) IS NULL),
    CONSTRAINT mail_records_status_check
        CHECK (status IN (
            'recorded', 'scheduled', 'queued', 'sent', 'deferred',
            'canceled', 'suppressed', 'failed', 'delivered', 'bounced'
        )),
    CONSTRAINT mail_records_metadata_check
        CHECK (jsonb_typeof(metadata) = 'object'),
    CONSTRAINT mail_records_times_check
        CHECK (
            status_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
            AND created_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
            AND updated_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
        )
);

-- An unnamed provider is one provider: with NULL in the key, its ids would not be unique.
CREATE UNIQUE INDEX mail_records_provider_message_id_key
    ON mail_records (member_id, coalesce(provider, ''), provider_message_id);
-- The list over all members, newest first, and one index for each of its filters.
CREATE INDEX mail_records_id_idx ON mail_records (id);
CREATE INDEX mail_records_status_idx ON mail_records (status, id);
CREATE INDEX mail_records_recipient_idx ON mail_records (recipient_folded, id);
CREATE INDEX mail_records_category_idx ON mail_records (category, id);
CREATE INDEX mail_records_created_at_idx ON mail_records (created_at);
-- Lets the deletion of a record find its retries.
CREATE INDEX mail_records_retry_of_idx ON mail_records (member_id, retry_of) WHERE retry_of IS NOT NULL;
