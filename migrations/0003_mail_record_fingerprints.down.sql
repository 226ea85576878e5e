ALTER TABLE mail_records DROP COLUMN fingerprint;
