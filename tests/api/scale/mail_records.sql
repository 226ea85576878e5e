-- 5,000,000 mail records of 1,000,000 members; rows that a rare value picks stand together here too.

SET session_replication_role = replica; -- No foreign key is looked up for each row.

INSERT INTO mail_records
    (member_id, id, recipient, recipient_folded, sender, subject, subject_folded, category, status,
     status_at, created_at, updated_at)
SELECT
    (lpad(to_hex(member), 8, '0') || '-0000-7000-8000-000000000000')::uuid,
    (lpad(to_hex(n), 8, '0') || '-1111-7000-8000-000000000000')::uuid,
    address, address, 'news@club.example', initcap(subject), subject,
    CASE WHEN n < 50000 THEN 'transactional' ELSE 'marketing' END,
    CASE WHEN n >= 4999000 THEN 'scheduled' WHEN n % 50 = 0 THEN 'bounced' WHEN n % 10 = 1 THEN 'sent' ELSE 'delivered' END,
    at + n % 100 * interval '1 second', at, at
FROM (
    -- One member has 100,000, all of them old.
    SELECT n, CASE WHEN n < 100000 THEN 7 ELSE n * 7919::bigint % 1000000 END AS member,
        '2000-01-01T00:00:00Z'::timestamptz + n / 100 * interval '1 hour' AS at,
        'm' || CASE WHEN n < 100000 THEN 7 ELSE n * 7919::bigint % 1000000 END || '@example.org' AS address,
        CASE WHEN n < 1000 THEN 'founding of the club' WHEN n % 2 = 0 THEN 'news ' || n / 1000 ELSE 'your invoice ' || n END AS subject
    FROM generate_series(0, 4999999) n
) s;
