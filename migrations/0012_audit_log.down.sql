DROP FUNCTION record_write(jsonb, text, uuid, uuid);
DROP TABLE audit_log;
