DROP TABLE access_keys;
