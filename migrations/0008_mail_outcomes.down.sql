DROP INDEX mail_records_outcomes_idx;
