-- Mail events: what became of each mail, as it was reported. Rows are added and never changed; a mail
-- record's status, and all that is told beside it, follows from its events.

ALTER TABLE mail_records
    -- The event that decides on the status; none in a row that was written past the program.
    ADD COLUMN status_event_id  uuid,
    ADD COLUMN delivered_at     timestamptz,
    ADD COLUMN bounced_at       timestamptz,
    ADD COLUMN opened_count     bigint NOT NULL DEFAULT 0,
    ADD COLUMN first_opened_at  timestamptz,
    ADD COLUMN clicked_count    bigint NOT NULL DEFAULT 0,
    ADD COLUMN first_clicked_at timestamptz,
    ADD COLUMN complained_at    timestamptz,
    ADD COLUMN unsubscribed_at  timestamptz,
    -- The newest retry, whose retry_of points back.
    ADD COLUMN retried_by       uuid,
    ADD CONSTRAINT mail_records_retried_by_fkey
        FOREIGN KEY (member_id, retried_by) REFERENCES mail_records (member_id, id)
        ON DELETE SET NULL (retried_by),
    ADD CONSTRAINT mail_records_event_times_check
        CHECK (
            (delivered_at IS NULL OR delivered_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z')
            AND (bounced_at IS NULL OR bounced_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z')
            AND (first_opened_at IS NULL OR first_opened_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z')
            AND (first_clicked_at IS NULL OR first_clicked_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z')
            AND (complained_at IS NULL OR complained_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z')
            AND (unsubscribed_at IS NULL OR unsubscribed_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z')
        );
-- Lets the deletion of a retry find what it was a retry of.
CREATE INDEX mail_records_retried_by_idx ON mail_records (member_id, retried_by) WHERE retried_by IS NOT NULL;

CREATE TABLE mail_events (
    member_id         uuid        NOT NULL,
    mail_record_id    uuid        NOT NULL,
    -- That of the mail record, for the event that the record was created with.
    id                uuid        NOT NULL,
    type              text        NOT NULL,
    occurred_at       timestamptz NOT NULL,
    received_at       timestamptz NOT NULL DEFAULT now(),
    source            text,
    provider_event_id text,
    smtp_code         smallint,
    enhanced_code     text,
    diagnostic        text,
    remote_mta        text,
    url               text,
    effect            text        NOT NULL,
    -- SHA-256 of the provider's id of the event, or else of what the event says: by it a repetition is
    -- told. None for the event that a record was created with.
    dedupe_key        bytea,

    PRIMARY KEY (member_id, mail_record_id, id),
    CONSTRAINT mail_events_mail_record_id_fkey
        FOREIGN KEY (member_id, mail_record_id) REFERENCES mail_records (member_id, id) ON DELETE CASCADE,
    CONSTRAINT mail_events_dedupe_key_key UNIQUE (member_id, mail_record_id, dedupe_key),
    CONSTRAINT mail_events_dedupe_key_check CHECK (octet_length(dedupe_key) = 32),
    CONSTRAINT mail_events_type_check
        CHECK (type IN (
            'recorded', 'scheduled', 'queued', 'sent', 'deferred',
            'canceled', 'suppressed', 'failed', 'delivered', 'bounced',
            'opened', 'clicked', 'complained', 'unsubscribed'
        )),
    CONSTRAINT mail_events_smtp_code_check CHECK (smtp_code BETWEEN 200 AND 599),
    CONSTRAINT mail_events_effect_check CHECK (effect IN ('applied', 'superseded')),
    CONSTRAINT mail_events_times_check
        CHECK (
            occurred_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
            AND received_at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z'
        )
);
CREATE INDEX mail_events_occurred_at_idx ON mail_events (member_id, mail_record_id, occurred_at, id);

-- No status without an event.
INSERT INTO mail_events
    (member_id, mail_record_id, id, type, occurred_at, received_at, diagnostic, effect)
SELECT member_id, id, id, status, status_at, created_at, status_reason, 'applied'
FROM mail_records;
UPDATE mail_records
SET status_event_id = id,
    delivered_at = CASE WHEN status = 'delivered' THEN status_at END,
    bounced_at = CASE WHEN status = 'bounced' THEN status_at END;
UPDATE mail_records f SET retried_by = r.id
FROM mail_records r
WHERE r.member_id = f.member_id AND r.retry_of = f.id
    AND NOT EXISTS (
        SELECT FROM mail_records later
        WHERE later.member_id = f.member_id AND later.retry_of = f.id AND later.id > r.id
    );
