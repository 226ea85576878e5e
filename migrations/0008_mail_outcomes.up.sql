-- How the last mails to an address ended, newest first: whether they failed in a row.
CREATE INDEX mail_records_outcomes_idx ON mail_records (recipient_folded, status_at, id)
    WHERE status IN ('delivered', 'failed', 'bounced');
