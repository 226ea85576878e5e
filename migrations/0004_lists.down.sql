ALTER TABLE mail_records DROP COLUMN subject_folded;
DROP INDEX mail_records_member_status_at_idx;
DROP INDEX mail_records_member_created_at_idx;
DROP INDEX mail_records_created_at_idx;
CREATE INDEX mail_records_created_at_idx ON mail_records (created_at);
DROP INDEX mail_records_status_at_idx;

DROP INDEX members_joined_idx;
CREATE INDEX members_joined_idx ON members (joined);
DROP INDEX members_created_at_idx;
DROP INDEX members_birth_idx;
ALTER TABLE members DROP COLUMN search_text;
ALTER TABLE members DROP COLUMN name_folded;
DROP FUNCTION characters_and_pairs(text);
