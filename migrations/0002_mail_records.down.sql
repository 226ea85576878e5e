DROP TABLE mail_records;
