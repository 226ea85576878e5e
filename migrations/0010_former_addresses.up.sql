-- The addresses that a member had before, by their hashes: when she is deleted, what is suppressed must not
-- tell them either.
ALTER TABLE members ADD COLUMN former_email_hashes bytea[] NOT NULL DEFAULT '{}';
