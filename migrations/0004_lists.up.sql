-- What the lists are sorted by and searched for, folded by the program: without regard to case and
-- accents, the same on every machine. By code point ("C"), so that no server's locale decides on the
-- order. Empty in a row that was written past the program, until it is written again.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') THEN
        RAISE EXCEPTION 'this server lacks the extension pg_trgm: install PostgreSQL''s contrib modules '
            '(package postgresql-contrib, or postgresql-% on Debian and Ubuntu), and migrate again',
            current_setting('server_version_num')::int / 10000;
    END IF;
END $$;
-- It may be in use by others too, so the way down leaves it.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- For the rows that are there: as near as SQL comes to the program.
CREATE FUNCTION pg_temp.folded(text) RETURNS text LANGUAGE sql IMMUTABLE
RETURN translate(
    replace(replace(replace(replace(
        lower(normalize(
            regexp_replace(
                normalize($1, NFKD),
                '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f]', '', 'g'
            ),
            NFC
        )),
        'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
    'øłđðıς', 'olddiσ'
);

-- The name, 200 characters at most: an index does not hold more than some 2,700 bytes.
ALTER TABLE members ADD COLUMN name_folded text COLLATE "C" NOT NULL DEFAULT '';
-- Name and address in two lines, for the search in both.
ALTER TABLE members ADD COLUMN search_text text COLLATE "C" NOT NULL DEFAULT '';
UPDATE members
SET name_folded = left(pg_temp.folded(name), 200),
    search_text = concat_ws(E'\n', pg_temp.folded(name), pg_temp.folded(email));

ALTER TABLE mail_records ADD COLUMN subject_folded text COLLATE "C" NOT NULL DEFAULT '';
UPDATE mail_records SET subject_folded = pg_temp.folded(subject);

DROP FUNCTION pg_temp.folded(text);

-- Each index for an order ends with the id, by which rows stand that have the same key, so that a page
-- begins where the one before ended.
CREATE INDEX members_name_idx ON members (name_folded, id);
-- No date of birth counts as later than any.
CREATE INDEX members_birth_idx ON members (coalesce(birth, 'infinity'), id);
CREATE INDEX members_created_at_idx ON members (created_at, id);
DROP INDEX members_joined_idx;
CREATE INDEX members_joined_idx ON members (joined, id);
-- The few who have one status may stand together, far from where the order begins: all new members
-- pending, say. Without these, everyone in front of them would be read.
CREATE INDEX members_status_name_idx ON members (status, name_folded, id);
CREATE INDEX members_status_birth_idx ON members (status, coalesce(birth, 'infinity'), id);
CREATE INDEX members_status_created_at_idx ON members (status, created_at, id);
CREATE INDEX members_status_joined_idx ON members (status, joined, id);

CREATE INDEX mail_records_status_at_idx ON mail_records (status_at, id);
DROP INDEX mail_records_created_at_idx;
CREATE INDEX mail_records_created_at_idx ON mail_records (created_at, id);
-- The same for the mail of one status, of one category and of one member.
CREATE INDEX mail_records_status_status_at_idx ON mail_records (status, status_at, id);
CREATE INDEX mail_records_status_created_at_idx ON mail_records (status, created_at, id);
CREATE INDEX mail_records_category_status_at_idx ON mail_records (category, status_at, id);
CREATE INDEX mail_records_category_created_at_idx ON mail_records (category, created_at, id);
CREATE INDEX mail_records_member_created_at_idx ON mail_records (member_id, created_at, id);
CREATE INDEX mail_records_member_status_at_idx ON mail_records (member_id, status_at, id);

-- Trigrams find three letters and more in a row. What is shorter is found by its characters and the
-- pairs of these. The cost is as measured: with the usual one, the planner would rather call it for
-- every row than use the index.
CREATE FUNCTION characters_and_pairs(text) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 1000
RETURN ARRAY(
    SELECT substr($1, position, length)
    FROM generate_series(1, char_length($1)) position, generate_series(1, 2) length
);
CREATE INDEX members_search_text_idx ON members USING gin (search_text gin_trgm_ops);
CREATE INDEX members_search_pairs_idx ON members USING gin (characters_and_pairs(search_text));
CREATE INDEX mail_records_subject_idx ON mail_records USING gin (subject_folded gin_trgm_ops);
