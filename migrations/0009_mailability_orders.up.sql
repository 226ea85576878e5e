-- Those who cannot be mailed may stand together, far from where an order begins. Without these, everyone
-- in front of them would be read; and they are few, so that the indexes are small.
CREATE INDEX members_no_address_name_idx ON members (name_folded, id) WHERE email IS NULL;
CREATE INDEX members_no_address_birth_idx ON members (coalesce(birth, 'infinity'), id) WHERE email IS NULL;
CREATE INDEX members_no_address_created_at_idx ON members (created_at, id) WHERE email IS NULL;
CREATE INDEX members_no_address_joined_idx ON members (joined, id) WHERE email IS NULL;
CREATE INDEX members_suppressed_name_idx ON members (name_folded, id) WHERE suppressed_until IS NOT NULL;
CREATE INDEX members_suppressed_birth_idx ON members (coalesce(birth, 'infinity'), id)
    WHERE suppressed_until IS NOT NULL;
CREATE INDEX members_suppressed_created_at_idx ON members (created_at, id) WHERE suppressed_until IS NOT NULL;
CREATE INDEX members_suppressed_joined_idx ON members (joined, id) WHERE suppressed_until IS NOT NULL;
CREATE INDEX members_unsubscribed_name_idx ON members (name_folded, id)
    WHERE unsubscribed_until IS NOT NULL OR consent_withdrawn;
CREATE INDEX members_unsubscribed_birth_idx ON members (coalesce(birth, 'infinity'), id)
    WHERE unsubscribed_until IS NOT NULL OR consent_withdrawn;
CREATE INDEX members_unsubscribed_created_at_idx ON members (created_at, id)
    WHERE unsubscribed_until IS NOT NULL OR consent_withdrawn;
CREATE INDEX members_unsubscribed_joined_idx ON members (joined, id)
    WHERE unsubscribed_until IS NOT NULL OR consent_withdrawn;
