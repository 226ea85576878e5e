-- Tells the same mail, written down again under a key that it has, from another mail.

ALTER TABLE mail_records
    -- SHA-256 of the body as it was first given; none for what was not written by the API.
    ADD COLUMN fingerprint bytea,
    ADD CONSTRAINT mail_records_fingerprint_check CHECK (octet_length(fingerprint) = 32);
