//! Settings: from the environment and from `.env`, and what becomes of bad ones.

use crate::kit::{Folder, Process};

const CLOSED: &str = "postgres://ann:secret@127.0.0.1:1/club";

#[test]
fn a_bad_value_stops_the_start_in_one_line() {
    let folder = Folder::new();
    for (name, value) in [
        ("DATABASE_URL", "mysql://***"),
        ("PG_DOWNLOAD_URL", "ftp://mirror.example"),
        ("BIND_ADDRESS", "8080"),
        ("BIND_ADDRESS", "127.0.0.1:99999"),
        ("DATABASE_MAX_CONNECTIONS", "0"),
        ("DATABASE_MAX_CONNECTIONS", "1001"),
        ("DATABASE_ACQUIRE_TIMEOUT_SECONDS", "0"),
        ("DATABASE_STATEMENT_TIMEOUT_SECONDS", "1.5"),
        ("MIGRATE_ON_START", "TRUE"),
        ("REQUEST_TIMEOUT_SECONDS", "30s"),
        ("HEADER_TIMEOUT_SECONDS", "-1"),
        ("STALL_TIMEOUT_SECONDS", "3601"),
        ("MAX_BODY_BYTES", "1023"),
        ("MAX_CLIENT_CONNECTIONS", " 1"),
        ("MAX_REQUESTS", "0"),
        ("AUDIT_LOG_DAYS", "-1"),
        ("RATE_LIMIT", "-1"),
        ("FAILED_SIGN_INS_PER_MINUTE", "few"),
        ("TRUSTED_PROXIES", "proxy.example"),
        ("REQUIRE_IF_MATCH", "always"),
        ("PUBLIC_URL", "api.example.org"),
        ("CORS_ALLOWED_ORIGINS", "https://app.example.org/"),
        ("COMPRESSION", "gzip"),
        ("SHUTDOWN_GRACE_SECONDS", "forever"),
        ("LOG", "level=loud"),
        ("LOG_FORMAT", "xml"),
    ] {
        for command in [&[][..], &["migrate"], &["seed"]] {
            let output = Process::run(&folder, command, &[(name, value)]);
            let refusal = output.refusal();
            let beginning = format!("{name} is \"{value}\", but must be ");
            assert!(refusal.starts_with(&beginning), "{refusal}");
            assert!(refusal.len() > beginning.len(), "{refusal}");
        }
    }
}

#[test]
fn a_folder_that_cannot_be_used_stops_the_start_in_one_line() {
    let folder = Folder::new();
    folder.write("file", "");
    for (name, value) in [("DATA_DIR", "file"), ("PG_BIN_DIR", "file")] {
        let output = Process::run(&folder, &[], &[(name, value)]);
        assert!(output.refusal().contains(name), "{output:?}");
        folder.until_deserted();
    }
}

#[test]
fn the_environment_goes_before_the_file() {
    let folder = Folder::new();
    folder.write(".env", "# Ours\nMAX_BODY_BYTES=12\nOTHER=1\n");
    let output = Process::run(&folder, &[], &[("DATABASE_URL", CLOSED)]);
    assert!(
        output.refusal().starts_with("MAX_BODY_BYTES is \"12\""),
        "{output:?}"
    );

    let settings = [("DATABASE_URL", CLOSED), ("MAX_BODY_BYTES", "1024")];
    let output = Process::run(&folder, &[], &settings);
    assert!(output.refusal().contains("127.0.0.1:1"), "{output:?}");
}

#[test]
fn a_file_that_cannot_be_read_stops_the_start_without_its_secrets() {
    let folder = Folder::new();
    folder.write(
        ".env",
        "# Ours\nDATABASE_URL=postgres://ann:se cret@host/club\n",
    );
    let output = Process::run(&folder, &[], &[]);
    let refusal = output.refusal();
    assert!(refusal.contains(".env"), "{refusal}");
    assert!(refusal.contains("line 2"), "{refusal}");
    assert!(!refusal.contains("cret"), "{refusal}");
}

#[test]
fn no_password_is_printed() {
    let folder = Folder::new();
    for url in [
        CLOSED,
        "postgres://ann:secret@127.0.0.1:port/club",
        "postgres://ann:secret@127.0.0.1:1/club?sslmode=maybe",
        "postgres://127.0.0.1:1/club?user=ann&password=secret",
        "postgres://127.0.0.1:port/club?user=ann&password=secret",
        "mysql://ann:secret@127.0.0.1/club",
        "ann:secret@127.0.0.1/club",
        "host=127.0.0.1 user=ann password=secret",
    ] {
        let settings = [("DATABASE_URL", url), ("LOG", "trace")];
        let output = Process::run(&folder, &[], &settings);
        assert!(!output.status.success(), "{url}");
        assert!(!output.stderr.contains("secret"), "{}", output.stderr);
        assert!(output.stderr.contains("DATABASE_URL"), "{}", output.stderr);
    }
}
