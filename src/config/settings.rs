//! The table of settings, and the texts made from it.

use std::fmt::Write;

/// A setting as its reader sees it: one environment variable.
#[derive(Debug)]
pub struct Setting {
    pub name: &'static str,
    /// Empty if the setting is optional.
    pub default: &'static str,
    /// What is allowed, in words that follow "is".
    pub allowed: &'static str,
    pub help: &'static str,
}

const fn setting(
    name: &'static str,
    default: &'static str,
    allowed: &'static str,
    help: &'static str,
) -> Setting {
    Setting {
        name,
        default,
        allowed,
        help,
    }
}

pub(super) const DATABASE_URL: Setting = setting(
    "DATABASE_URL",
    "",
    "a URL such as postgres://user:password@host:5432/database",
    "Postgres server to use. Without it, an embedded one is started in DATA_DIR.",
);
pub(super) const DATA_DIR: Setting = setting(
    "DATA_DIR",
    ".member-mail",
    "a folder's path",
    "Folder of the embedded Postgres.",
);
pub(super) const PG_BIN_DIR: Setting = setting(
    "PG_BIN_DIR",
    "",
    "a folder with the programs postgres and initdb, version 15 or later",
    "Server programs for the embedded Postgres. Without it, the newest installed ones are used.",
);
pub(super) const PG_DOWNLOAD_URL: Setting = setting(
    "PG_DOWNLOAD_URL",
    "",
    "an http or https URL",
    "Where server programs are fetched from if none are installed: a mirror of the usual repository.",
);
pub(super) const BIND_ADDRESS: Setting = setting(
    "BIND_ADDRESS",
    "127.0.0.1:8080",
    "an address and a port such as 127.0.0.1:8080, [::1]:8080 or localhost:8080",
    "Where to listen. Port 0 takes a free one. Beyond loopback every request needs an access key.",
);
pub(super) const ALLOWED_HOSTS: Setting = setting(
    "ALLOWED_HOSTS",
    "",
    "names without ports, separated by commas, such as mail.example.org",
    "Names by which the service may be called, besides those of this machine; a proxy may pass one on. \
     Without it, on loopback those of this machine alone, beyond it any.",
);
pub(super) const TRUSTED_PROXIES: Setting = setting(
    "TRUSTED_PROXIES",
    "",
    "networks or addresses separated by commas, such as 10.0.0.0/8,2001:db8::1",
    "Proxies that are believed when X-Forwarded-For says who sent a request. Without it, whoever connects \
     is the client.",
);
pub(super) const PUBLIC_URL: Setting = setting(
    "PUBLIC_URL",
    "",
    "an http or https URL without a query such as https://api.example.org/mail",
    "Where clients reach the service, for Location, Link and the type of problems. Without it, these \
     begin with /.",
);
pub(super) const CORS_ALLOWED_ORIGINS: Setting = setting(
    "CORS_ALLOWED_ORIGINS",
    "",
    "origins as browsers send them such as https://app.example.org, separated by commas, or *",
    "Origins whose pages may call the service from a browser, or * for any page that someone opens who \
     reaches the port. Without it, none but its own.",
);
pub(super) const COMPRESSION: Setting = setting(
    "COMPRESSION",
    "true",
    "true or false",
    "Compress long answers with gzip for clients that accept it.",
);
pub(super) const DATABASE_MAX_CONNECTIONS: Setting = setting(
    "DATABASE_MAX_CONNECTIONS",
    "10",
    "a whole number from 1 to 1000",
    "Connections to Postgres at the most, besides one for /readyz.",
);
pub(super) const DATABASE_ACQUIRE_TIMEOUT_SECONDS: Setting = setting(
    "DATABASE_ACQUIRE_TIMEOUT_SECONDS",
    "5",
    "a whole number from 1 to 3600",
    "How long a request waits for a connection before it is answered with 503.",
);
pub(super) const DATABASE_STATEMENT_TIMEOUT_SECONDS: Setting = setting(
    "DATABASE_STATEMENT_TIMEOUT_SECONDS",
    "10",
    "a whole number from 1 to 3600",
    "How long a statement may run before it is answered with 503.",
);
pub(super) const MIGRATE_ON_START: Setting = setting(
    "MIGRATE_ON_START",
    "true",
    "true or false",
    "Apply the migrations that the database lacks before serving.",
);
pub(super) const REQUEST_TIMEOUT_SECONDS: Setting = setting(
    "REQUEST_TIMEOUT_SECONDS",
    "20",
    "a whole number from 1 to 3600",
    "How long a request may take, its body included.",
);
pub(super) const HEADER_TIMEOUT_SECONDS: Setting = setting(
    "HEADER_TIMEOUT_SECONDS",
    "10",
    "a whole number from 1 to 3600",
    "How long a client may take to send a request's header, and stay idle between requests.",
);
pub(super) const STALL_TIMEOUT_SECONDS: Setting = setting(
    "STALL_TIMEOUT_SECONDS",
    "60",
    "a whole number from 1 to 3600",
    "How long a client may take nothing of an answer that is being sent.",
);
pub(super) const MAX_BODY_BYTES: Setting = setting(
    "MAX_BODY_BYTES",
    "1048576",
    "a whole number from 1024 to 1073741824",
    "Largest request body.",
);
pub(super) const IDEMPOTENCY_KEY_HOURS: Setting = setting(
    "IDEMPOTENCY_KEY_HOURS",
    "24",
    "a whole number from 1 to 720",
    "How long the answer to a request with an Idempotency-Key is kept, to be repeated.",
);
pub(super) const AUDIT_LOG_DAYS: Setting = setting(
    "AUDIT_LOG_DAYS",
    "365",
    "a whole number from 0 to 36500",
    "How long it is kept who wrote what; 0: for ever.",
);
pub(super) const MAX_CLIENT_CONNECTIONS: Setting = setting(
    "MAX_CLIENT_CONNECTIONS",
    "10000",
    "a whole number from 1 to 1000000",
    "Connections from clients at the most; more wait.",
);
pub(super) const MAX_REQUESTS: Setting = setting(
    "MAX_REQUESTS",
    "4096",
    "a whole number from 1 to 1000000",
    "Requests that run at the same time; further ones are answered with 503.",
);
pub(super) const RATE_LIMIT: Setting = setting(
    "RATE_LIMIT",
    "1000",
    "a whole number from 0 to 1000000",
    "Requests in a second of each access key, and of each address without one; further ones are answered \
     with 429. Each instance counts by itself; 0: no limit.",
);
pub(super) const FAILED_SIGN_INS_PER_MINUTE: Setting = setting(
    "FAILED_SIGN_INS_PER_MINUTE",
    "10",
    "a whole number from 0 to 1000000",
    "Access keys from one address that may open nothing; further ones are answered with 429, but for those \
     in use. Each instance counts by itself; 0: no limit.",
);
pub(super) const MAX_STREAMS: Setting = setting(
    "MAX_STREAMS",
    "5",
    "a whole number from 1 to 1000",
    "Lists that are streamed at the same time. Each holds a connection to Postgres as long as its reader \
     takes, so this stays below DATABASE_MAX_CONNECTIONS.",
);
pub(super) const HEARTBEAT_SECONDS: Setting = setting(
    "HEARTBEAT_SECONDS",
    "15",
    "a whole number from 1 to 3600",
    "How long a stream of events is silent before it says that it is still there.",
);
pub(super) const VIEWS_FILE: Setting = setting(
    "VIEWS_FILE",
    "",
    "a file's path",
    "Views: which fields access keys and platforms see, see docs/views.md. Without it, everything.",
);
pub(super) const REQUIRE_IF_MATCH: Setting = setting(
    "REQUIRE_IF_MATCH",
    "false",
    "true or false",
    "Answer PUT, PATCH and DELETE without If-Match with 428.",
);
pub(super) const TRANSIENT_FAILURES_LIMIT: Setting = setting(
    "TRANSIENT_FAILURES_LIMIT",
    "5",
    "a whole number from 0 to 1000",
    "After how many mails in a row that failed for a time (a full mailbox, say), with none delivered \
     between, an address is suppressed; 0: never.",
);
pub(super) const SHUTDOWN_DELAY_SECONDS: Setting = setting(
    "SHUTDOWN_DELAY_SECONDS",
    "0",
    "a whole number from 0 to 3600",
    "How long everything is still served after SIGTERM or SIGINT while /readyz fails already, for a \
     load balancer to notice.",
);
pub(super) const SHUTDOWN_GRACE_SECONDS: Setting = setting(
    "SHUTDOWN_GRACE_SECONDS",
    "25",
    "a whole number from 1 to 3600",
    "How long running requests may take to finish once the service takes no new ones.",
);
pub(super) const LOG: Setting = setting(
    "LOG",
    "info",
    "a level (error, warn, info, debug, trace) or a list such as info,sqlx=debug",
    "What to log, to standard error.",
);
pub(super) const LOG_FORMAT: Setting = setting("LOG_FORMAT", "text", "text or json", "How to log.");

/// All settings, in the order in which they are documented.
pub const SETTINGS: &[&Setting] = &[
    &DATABASE_URL,
    &DATA_DIR,
    &PG_BIN_DIR,
    &PG_DOWNLOAD_URL,
    &BIND_ADDRESS,
    &ALLOWED_HOSTS,
    &TRUSTED_PROXIES,
    &PUBLIC_URL,
    &CORS_ALLOWED_ORIGINS,
    &COMPRESSION,
    &DATABASE_MAX_CONNECTIONS,
    &DATABASE_ACQUIRE_TIMEOUT_SECONDS,
    &DATABASE_STATEMENT_TIMEOUT_SECONDS,
    &MIGRATE_ON_START,
    &REQUEST_TIMEOUT_SECONDS,
    &HEADER_TIMEOUT_SECONDS,
    &STALL_TIMEOUT_SECONDS,
    &MAX_BODY_BYTES,
    &IDEMPOTENCY_KEY_HOURS,
    &AUDIT_LOG_DAYS,
    &MAX_CLIENT_CONNECTIONS,
    &MAX_REQUESTS,
    &RATE_LIMIT,
    &FAILED_SIGN_INS_PER_MINUTE,
    &MAX_STREAMS,
    &HEARTBEAT_SECONDS,
    &REQUIRE_IF_MATCH,
    &VIEWS_FILE,
    &TRANSIENT_FAILURES_LIMIT,
    &SHUTDOWN_DELAY_SECONDS,
    &SHUTDOWN_GRACE_SECONDS,
    &LOG,
    &LOG_FORMAT,
];

/// The settings as `.env.example` has them.
#[must_use]
pub fn env_example() -> String {
    let mut text = String::from(
        "# Settings of member-mail, each with its default. Copy this file to `.env`, or set them in the\n\
         # environment, which has precedence.\n",
    );
    for setting in SETTINGS {
        writeln!(
            text,
            "\n# {}\n# Allowed: {}.",
            setting.help, setting.allowed
        )
        .ok();
        writeln!(text, "# {}={}", setting.name, setting.default).ok();
    }
    text
}

/// The settings as `--help` has them.
#[must_use]
pub fn help() -> String {
    let mut text =
        String::from("Settings, from the environment or from `.env` in the working folder:\n");
    for setting in SETTINGS {
        let default = match setting.default {
            "" => String::new(),
            default => format!(" [default: {default}]"),
        };
        writeln!(
            text,
            "\n  {}{default}\n      {}",
            setting.name, setting.help
        )
        .ok();
        writeln!(text, "      Allowed: {}.", setting.allowed).ok();
    }
    text
}
