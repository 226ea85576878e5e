-- Ids, dates and times grow together, as they do in use; so the rows that a rare value picks stand
-- together too, at one end of an order.

INSERT INTO members
    (id, external_id, email, email_folded, name, name_folded, search_text, birth, joined, status, tags,
     created_at, updated_at, suppressed_until, consent_withdrawn)
SELECT
    (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid,
    'm-' || n, CASE WHEN n < 998000 THEN address END, CASE WHEN n < 998000 THEN address END, initcap(name), name, name || chr(10) || address,
    -- Two in five have none; of the others many share one.
    CASE WHEN n % 5 > 1 THEN '1930-01-01'::date + (n::bigint * 7919 % 25000)::int END,
    '1990-01-01'::date + n / 80,
    CASE WHEN n >= 999000 THEN 'pending' WHEN n % 20 = 0 THEN 'ended' WHEN n % 25 = 1 THEN 'suspended' ELSE 'active' END,
    CASE WHEN n < 500 THEN '{founder}'::text[] WHEN n % 2 = 0 THEN '{member,news}' ELSE '{member}' END,
    -- A thousand at once, as an import writes them.
    '2000-01-01T00:00:00Z'::timestamptz + n / 1000 * interval '1 day',
    now(), CASE WHEN n % 50 = 3 THEN 'infinity'::timestamptz END, n < 1000
FROM (
    SELECT n, 'm' || n || '@example.org' AS address,
        CASE WHEN n % 50000 = 7 THEN 'zywiec' ELSE syllables[1 + n % 20] || syllables[1 + n / 20 % 20] END
            || ' ' || syllables[1 + n / 7 % 20] || syllables[1 + n / 140 % 20] || syllables[1 + n / 2800 % 20]
            || CASE WHEN n = 100 THEN ' q' WHEN n = 200 THEN ' z' ELSE '' END AS name
    FROM generate_series(0, :members - 1) n,
        (SELECT string_to_array('an ber cor dan el fa gor hil is jo kar lin mo ne ol pa ro sen ti ul', ' ') AS syllables) s
) s;
