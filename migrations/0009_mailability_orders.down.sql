DROP INDEX
    members_no_address_name_idx,
    members_no_address_birth_idx,
    members_no_address_created_at_idx,
    members_no_address_joined_idx,
    members_suppressed_name_idx,
    members_suppressed_birth_idx,
    members_suppressed_created_at_idx,
    members_suppressed_joined_idx,
    members_unsubscribed_name_idx,
    members_unsubscribed_birth_idx,
    members_unsubscribed_created_at_idx,
    members_unsubscribed_joined_idx;
