-- What these answers hide is not known any more.
DELETE FROM idempotency_keys WHERE view <> '';
ALTER TABLE idempotency_keys DROP COLUMN view;
ALTER TABLE access_keys DROP COLUMN view;
