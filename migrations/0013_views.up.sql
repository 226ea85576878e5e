-- What a key may see; null for everything. It is never changed: whoever is to see something else gets
-- another key.
ALTER TABLE access_keys ADD COLUMN view text
    CONSTRAINT access_keys_view_check CHECK (length(view) BETWEEN 1 AND 100);

-- What stands in entity tags for the view that an answer was written for: to another one it is not
-- repeated. Empty where everything was shown.
ALTER TABLE idempotency_keys ADD COLUMN view text NOT NULL DEFAULT '';
