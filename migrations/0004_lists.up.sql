-- What the lists are sorted by. Each index ends with the id, by which rows stand that have the same
-- key, so that a page begins where the one before ended.

-- The name without regard to case and accents, as the program folds it, 200 characters at most. By
-- code point ("C"), so that no server's locale decides on the order. Empty for a row that was
-- written past the program, until it is written again.
ALTER TABLE members ADD COLUMN name_folded text COLLATE "C" NOT NULL DEFAULT '';

-- For the rows that are there, as near as SQL comes to the program.
UPDATE members
SET name_folded = left(
    translate(
        replace(replace(replace(replace(
            lower(normalize(
                regexp_replace(normalize(name, NFKD), '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f]', '', 'g'),
                NFC
            )),
            'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
        'øłđðıς', 'olddiσ'),
    200
);

CREATE INDEX members_name_idx ON members (name_folded, id);
-- No date of birth counts as later than any.
CREATE INDEX members_birth_idx ON members (coalesce(birth, 'infinity'), id);
CREATE INDEX members_created_at_idx ON members (created_at, id);
DROP INDEX members_joined_idx;
CREATE INDEX members_joined_idx ON members (joined, id);

CREATE INDEX mail_records_status_at_idx ON mail_records (status_at, id);
DROP INDEX mail_records_created_at_idx;
CREATE INDEX mail_records_created_at_idx ON mail_records (created_at, id);
-- The same for the list of one member. Without these, the mail of a member who has much of it and has
-- left would be looked for among everyone's.
CREATE INDEX mail_records_member_created_at_idx ON mail_records (member_id, created_at, id);
CREATE INDEX mail_records_member_status_at_idx ON mail_records (member_id, status_at, id);
