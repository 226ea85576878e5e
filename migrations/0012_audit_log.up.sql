-- Who wrote what, and when. It outlives what it tells of, so it has no foreign keys, and it has no value of
-- what was written.

CREATE TABLE audit_log (
    id          uuid        PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT now(),
    -- None: it was written without an access key.
    key_id      uuid,
    -- None: it was written by the command line.
    request_id  text,
    operation   text        NOT NULL,
    resource    text        NOT NULL,
    resource_id uuid        NOT NULL,
    member_id   uuid,
    -- The names of what the request gave.
    fields      text[]      NOT NULL,

    CONSTRAINT audit_log_resource_check
        CHECK (resource IN ('member', 'mail_record', 'mail_event', 'consent', 'suppression', 'access_key')),
    CONSTRAINT audit_log_at_check
        CHECK (at BETWEEN '0001-01-01 00:00:00Z' AND '9999-12-31 23:59:59.999999Z')
);

-- The list in both its orders, with each of its filters, and the sweep.
CREATE INDEX audit_log_at_idx ON audit_log (at, id);
CREATE INDEX audit_log_key_id_idx ON audit_log (key_id, id);
CREATE INDEX audit_log_request_id_idx ON audit_log (request_id, id);
CREATE INDEX audit_log_operation_idx ON audit_log (operation, id);
CREATE INDEX audit_log_resource_idx ON audit_log (resource, id);
CREATE INDEX audit_log_resource_id_idx ON audit_log (resource_id, id);
CREATE INDEX audit_log_member_id_idx ON audit_log (member_id, id);

-- For the statement that writes: adds a row on one resource, and answers the id of that.
CREATE FUNCTION record_write(author jsonb, resource text, resource_id uuid, member_id uuid) RETURNS uuid
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    INSERT INTO audit_log (id, key_id, request_id, operation, resource, resource_id, member_id, fields)
    VALUES (
        (author ->> 'id')::uuid, (author ->> 'key_id')::uuid, author ->> 'request_id', author ->> 'operation',
        resource, resource_id, member_id,
        ARRAY(SELECT jsonb_array_elements_text(author -> 'fields'))
    )
    RETURNING audit_log.resource_id;
END;
