//! Every setting, and the only reader of the environment.
//!
//! - `settings`: the table of settings, with their defaults and texts
//! - `parse`: what a setting's text means

mod parse;
mod settings;

use std::{collections::HashMap, fmt, net::SocketAddr, path::PathBuf, time::Duration};

use ipnet::IpNet;
use sqlx::postgres::PgConnectOptions;
use tracing_subscriber::EnvFilter;

use parse::{
    addresses, database, host_names, http_url, log_format, networks, origins, parse, public_url,
    seconds, within,
};
use settings::{
    ALLOWED_HOSTS, AUDIT_LOG_DAYS, BIND_ADDRESS, COMPRESSION, CORS_ALLOWED_ORIGINS, DATA_DIR,
    DATABASE_ACQUIRE_TIMEOUT_SECONDS, DATABASE_MAX_CONNECTIONS, DATABASE_STATEMENT_TIMEOUT_SECONDS,
    DATABASE_URL, FAILED_SIGN_INS_PER_MINUTE, HEADER_TIMEOUT_SECONDS, HEARTBEAT_SECONDS,
    IDEMPOTENCY_KEY_HOURS, LOG, LOG_FORMAT, MAX_BODY_BYTES, MAX_CLIENT_CONNECTIONS, MAX_REQUESTS,
    MAX_STREAMS, MIGRATE_ON_START, PG_BIN_DIR, PG_DOWNLOAD_URL, PUBLIC_URL, RATE_LIMIT,
    REQUEST_TIMEOUT_SECONDS, REQUIRE_IF_MATCH, SHUTDOWN_DELAY_SECONDS, SHUTDOWN_GRACE_SECONDS,
    STALL_TIMEOUT_SECONDS, TRANSIENT_FAILURES_LIMIT, TRUSTED_PROXIES, VIEWS_FILE,
};
pub use settings::{SETTINGS, Setting, env_example, help};

/// The settings, read and checked.
#[derive(Clone)]
pub struct Config {
    /// None for the embedded server.
    pub database: Option<PgConnectOptions>,
    pub data_dir: PathBuf,
    pub pg_bin_dir: Option<PathBuf>,
    pub pg_download_url: Option<String>,
    /// Resolved; never empty.
    pub bind_addresses: Vec<SocketAddr>,
    /// Names by which the service may be called besides those of this machine; none for any name.
    pub allowed_hosts: Option<Vec<String>>,
    pub trusted_proxies: Vec<IpNet>,
    /// Without a `/` at its end; empty if it is not known.
    pub public_url: String,
    /// `*` alone for any.
    pub cors_allowed_origins: Vec<String>,
    pub compression: bool,
    pub database_max_connections: u32,
    pub database_acquire_timeout: Duration,
    pub database_statement_timeout: Duration,
    pub migrate_on_start: bool,
    pub request_timeout: Duration,
    pub header_timeout: Duration,
    pub stall_timeout: Duration,
    pub max_body_bytes: usize,
    pub idempotency_retention: Duration,
    /// None: for ever.
    pub audit_log_retention: Option<Duration>,
    pub max_client_connections: usize,
    pub max_requests: usize,
    pub max_streams: usize,
    /// For each client and second; 0: any number.
    pub rate_limit: u32,
    /// 0: any number.
    pub failed_sign_ins_per_minute: u32,
    pub heartbeat: Duration,
    pub require_if_match: bool,
    /// None: there is no view but the one that shows everything.
    pub views_file: Option<PathBuf>,
    /// 0: never.
    pub transient_failures_limit: u32,
    pub shutdown_delay: Duration,
    pub shutdown_grace: Duration,
    pub log: EnvFilter,
    pub log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// A setting that stops the start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{name} is {value:?}, but must be {allowed}")]
    Invalid {
        name: &'static str,
        value: String,
        allowed: &'static str,
    },
    #[error(".env cannot be read: {0}")]
    DotEnv(#[source] dotenvy::Error),
    #[error(
        ".env cannot be read: line {line} must be NAME=value, with the value in single quotes if it has \
         spaces or signs like $ and #"
    )]
    DotEnvLine { line: usize },
}

/// Says nothing of what it holds, which may be a password.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").finish_non_exhaustive()
    }
}

impl Config {
    /// Whether nobody but this machine reaches the service.
    #[must_use]
    pub fn on_loopback(&self) -> bool {
        on_loopback(&self.bind_addresses)
    }

    /// Reads the process's environment, and behind it `.env` in the working folder.
    ///
    /// # Errors
    /// [`ConfigError`], in one line that names the variable.
    pub fn load() -> Result<Self, ConfigError> {
        let mut variables = match dotenvy::from_path_iter(".env") {
            Ok(entries) => entries
                .collect::<Result<HashMap<_, _>, _>>()
                .map_err(dot_env)?,
            Err(error) if error.not_found() => HashMap::new(),
            Err(error) => return Err(dot_env(error)),
        };
        for setting in SETTINGS {
            if let Some(value) = std::env::var_os(setting.name) {
                // What is not UTF-8 fails the setting's own check.
                variables.insert(
                    setting.name.to_owned(),
                    value.to_string_lossy().into_owned(),
                );
            }
        }
        Self::read(&variables)
    }

    /// Reads settings from `variables`. An empty one counts as not set.
    ///
    /// # Errors
    /// [`ConfigError`], in one line that names the variable.
    pub fn read(variables: &HashMap<String, String>) -> Result<Self, ConfigError> {
        let read = Reader(variables);
        let bind_addresses = read.required(&BIND_ADDRESS, addresses)?;
        let allowed_hosts = match read.optional(&ALLOWED_HOSTS, host_names)? {
            None if on_loopback(&bind_addresses) => Some(Vec::new()),
            names => names,
        };
        Ok(Self {
            database: read.optional(&DATABASE_URL, database)?,
            data_dir: read.required(&DATA_DIR, parse)?,
            pg_bin_dir: read.optional(&PG_BIN_DIR, parse)?,
            pg_download_url: read.optional(&PG_DOWNLOAD_URL, http_url)?,
            bind_addresses,
            allowed_hosts,
            trusted_proxies: read
                .optional(&TRUSTED_PROXIES, networks)?
                .unwrap_or_default(),
            public_url: read.optional(&PUBLIC_URL, public_url)?.unwrap_or_default(),
            cors_allowed_origins: read
                .optional(&CORS_ALLOWED_ORIGINS, origins)?
                .unwrap_or_default(),
            compression: read.required(&COMPRESSION, parse)?,
            database_max_connections: read
                .required(&DATABASE_MAX_CONNECTIONS, |v| within(v, 1, 1000))?,
            database_acquire_timeout: read.required(&DATABASE_ACQUIRE_TIMEOUT_SECONDS, seconds)?,
            database_statement_timeout: read
                .required(&DATABASE_STATEMENT_TIMEOUT_SECONDS, seconds)?,
            migrate_on_start: read.required(&MIGRATE_ON_START, parse)?,
            request_timeout: read.required(&REQUEST_TIMEOUT_SECONDS, seconds)?,
            header_timeout: read.required(&HEADER_TIMEOUT_SECONDS, seconds)?,
            stall_timeout: read.required(&STALL_TIMEOUT_SECONDS, seconds)?,
            max_body_bytes: read.required(&MAX_BODY_BYTES, |v| within(v, 1024, 1 << 30))?,
            idempotency_retention: read.required(&IDEMPOTENCY_KEY_HOURS, |v| {
                within(v, 1, 720).map(Duration::from_hours)
            })?,
            audit_log_retention: read.required(&AUDIT_LOG_DAYS, |v| {
                within(v, 0, 36_500).map(|days| (days > 0).then(|| Duration::from_hours(days * 24)))
            })?,
            max_client_connections: read
                .required(&MAX_CLIENT_CONNECTIONS, |v| within(v, 1, 1_000_000))?,
            max_requests: read.required(&MAX_REQUESTS, |v| within(v, 1, 1_000_000))?,
            max_streams: read.required(&MAX_STREAMS, |v| within(v, 1, 1000))?,
            rate_limit: read.required(&RATE_LIMIT, |v| within(v, 0, 1_000_000))?,
            failed_sign_ins_per_minute: read
                .required(&FAILED_SIGN_INS_PER_MINUTE, |v| within(v, 0, 1_000_000))?,
            heartbeat: read.required(&HEARTBEAT_SECONDS, seconds)?,
            require_if_match: read.required(&REQUIRE_IF_MATCH, parse)?,
            views_file: read.optional(&VIEWS_FILE, parse)?,
            transient_failures_limit: read
                .required(&TRANSIENT_FAILURES_LIMIT, |v| within(v, 0, 1000))?,
            shutdown_delay: read.required(&SHUTDOWN_DELAY_SECONDS, |v| {
                within(v, 0, 3600).map(Duration::from_secs)
            })?,
            shutdown_grace: read.required(&SHUTDOWN_GRACE_SECONDS, seconds)?,
            log: read.required(&LOG, |value| EnvFilter::builder().parse(value).ok())?,
            log_format: read.required(&LOG_FORMAT, log_format)?,
        })
    }
}

struct Reader<'a>(&'a HashMap<String, String>);

impl Reader<'_> {
    fn value(&self, setting: &Setting) -> Option<&str> {
        let given = self.0.get(setting.name).map(String::as_str);
        [given, Some(setting.default)]
            .into_iter()
            .flatten()
            .find(|value| !value.is_empty())
    }

    fn optional<T>(
        &self,
        setting: &Setting,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.value(setting) else {
            return Ok(None);
        };
        parse(value)
            .map(Some)
            .ok_or_else(|| invalid(setting, value))
    }

    fn required<T>(
        &self,
        setting: &Setting,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ConfigError> {
        self.optional(setting, parse)?
            .ok_or_else(|| invalid(setting, ""))
    }
}

fn invalid(setting: &Setting, value: &str) -> ConfigError {
    ConfigError::Invalid {
        name: setting.name,
        value: if setting.name == DATABASE_URL.name {
            scheme_alone(value)
        } else {
            without_password(value)
        },
        allowed: setting.allowed,
    }
}

/// The line is named, not shown: it may hold a password.
fn dot_env(error: dotenvy::Error) -> ConfigError {
    let dotenvy::Error::LineParse(rest, _) = &error else {
        return ConfigError::DotEnv(error);
    };
    let file = std::fs::read_to_string(".env").unwrap_or_default();
    match file.lines().position(|line| line.contains(rest.trim_end())) {
        Some(index) => ConfigError::DotEnvLine { line: index + 1 },
        None => ConfigError::DotEnvLine { line: 1 },
    }
}

/// Hides all but the scheme. A URL that could not be read does not tell where its password is:
/// behind the user, in the query, or where the port should be.
fn scheme_alone(value: &str) -> String {
    match value.split_once("://") {
        Some((scheme, _)) if scheme.bytes().all(|b| b.is_ascii_alphanumeric()) => {
            format!("{scheme}://***")
        }
        _ => "***".to_owned(),
    }
}

/// Hides what stands between the first `:` behind the scheme and the last `@`.
fn without_password(value: &str) -> String {
    let Some((start, at)) = value.find("://").zip(value.rfind('@')) else {
        return value.to_owned();
    };
    match value[start + 3..].find(':').map(|colon| start + 3 + colon) {
        Some(colon) if colon < at => format!("{}:***{}", &value[..colon], &value[at..]),
        _ => value.to_owned(),
    }
}

fn on_loopback(addresses: &[SocketAddr]) -> bool {
    let mut addresses = addresses.iter();
    addresses.all(|address| address.ip().to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Config, ConfigError> {
        Config::read(&HashMap::from([(name.to_owned(), value.to_owned())]))
    }

    #[test]
    fn the_defaults_are_valid() {
        let config = Config::read(&HashMap::new()).expect("defaults");
        assert_eq!(
            config.bind_addresses,
            ["127.0.0.1:8080".parse().expect("address")]
        );
        assert!(config.database.is_none());
    }

    #[test]
    fn a_bad_value_is_named_with_what_is_allowed() {
        for (name, value) in [
            ("BIND_ADDRESS", "8080"),
            ("DATABASE_MAX_CONNECTIONS", "0"),
            ("DATABASE_MAX_CONNECTIONS", "ten"),
            ("REQUEST_TIMEOUT_SECONDS", "-1"),
            ("MAX_BODY_BYTES", "12"),
            ("MIGRATE_ON_START", "yes"),
            ("LOG", "level=loud"),
            ("LOG_FORMAT", "xml"),
            ("PG_DOWNLOAD_URL", "ftp://mirror.example"),
            ("COMPRESSION", "1"),
        ] {
            let message = read(name, value).expect_err(name).to_string();
            assert!(
                message.starts_with(&format!("{name} is \"{value}\", but must be ")),
                "{message}"
            );
            assert_eq!(message.lines().count(), 1);
        }
    }

    #[test]
    fn a_password_is_not_repeated() {
        for (name, value) in [
            ("DATABASE_URL", "postgres://ann:secret@host:port/x"),
            ("DATABASE_URL", "postgres://host:port/x?password=secret"),
            ("DATABASE_URL", "postgres://ann:secret"),
            ("DATABASE_URL", "host=localhost password=secret"),
            ("PG_DOWNLOAD_URL", "ftp://ann:secret@mirror.example"),
        ] {
            let message = read(name, value).expect_err(value).to_string();
            assert!(message.starts_with(name), "{message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_known_on_loopback_and_all_beyond_it() {
        let allowed = |name, value| read(name, value).map(|config| config.allowed_hosts);
        assert_eq!(allowed("LOG", "info").expect("defaults"), Some(vec![]));
        let named = allowed("ALLOWED_HOSTS", "a.example, b.example").expect("names");
        assert_eq!(
            named,
            Some(vec!["a.example".to_owned(), "b.example".to_owned()])
        );
        assert_eq!(allowed("BIND_ADDRESS", "0.0.0.0:80").expect("public"), None);
        for value in ["a.example:80", "http://a.example", "a.example,,", "*"] {
            assert!(read("ALLOWED_HOSTS", value).is_err(), "{value}");
        }
    }

    #[test]
    fn what_others_reach_is_told_from_loopback() {
        let on_loopback = |address| read("BIND_ADDRESS", address).map(|read| read.on_loopback());
        for address in [
            "0.0.0.0:80",
            "[::]:80",
            "192.0.2.1:80",
            "[::ffff:192.0.2.1]:80",
        ] {
            assert!(!on_loopback(address).expect(address), "{address}");
        }
        for address in [
            "127.0.0.2:80",
            "[::1]:80",
            "localhost:80",
            "[::ffff:127.0.0.1]:80",
        ] {
            assert!(on_loopback(address).expect(address), "{address}");
        }
    }

    #[test]
    fn the_example_file_is_what_the_settings_say() {
        assert_eq!(include_str!("../../.env.example"), env_example());
    }
}
