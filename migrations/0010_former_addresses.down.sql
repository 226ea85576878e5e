ALTER TABLE members DROP COLUMN former_email_hashes;
