DROP INDEX idempotency_keys_ids_idx;
DELETE FROM idempotency_keys WHERE body IS NULL;
ALTER TABLE idempotency_keys
    DROP COLUMN ids,
    ALTER COLUMN body SET NOT NULL;
DROP FUNCTION refresh_mailability(bytea);
DROP FUNCTION blocked_until(text, text);
DROP FUNCTION suppression_end(bytea, text);
DROP FUNCTION mailability(members);
DROP INDEX members_no_address_idx;
ALTER TABLE members
    DROP COLUMN consent_withdrawn,
    DROP COLUMN unsubscribed_until,
    DROP COLUMN suppressed_until,
    DROP COLUMN email_hash;
DROP VIEW present_consents;
DROP TABLE consents;
DROP TABLE suppressions;
DROP FUNCTION address_hash(text);
DROP TABLE address_keys;
