//! `member-mail keys`: the access keys, for whoever has the database. The first one is made here.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use sqlx::PgPool;
use uuid::Uuid;

use super::{Error, log_to_stderr, views};
use crate::{
    access_keys::{
        key::Key,
        model::{AccessKey, AccessKeyInput, Overlap},
        queries::{self, Rotated},
        scopes::Scopes,
    },
    config::Config,
    http::audit::Audit,
    postgres::database::{self, Database},
    values::{Invalid, Line, Timestamp},
};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a key, and print it. It cannot be shown again.
    Create(Create),
    /// List the keys, without their secrets.
    List,
    /// Give a key another secret, and print it.
    Rotate(Rotate),
    /// Revoke a key for good.
    Revoke {
        /// The key's id.
        id: Uuid,
    },
}

#[derive(Debug, Args)]
pub struct Create {
    /// Who or what is to use it.
    #[arg(value_parser = value::<Line<1, 200>>)]
    name: Line<1, 200>,
    /// What it allows, separated by commas, such as members:read,mail:write.
    #[arg(long, value_parser = scopes)]
    scopes: Scopes,
    /// From when on it opens nothing, such as 2027-01-01T00:00:00Z; never without.
    #[arg(long, value_name = "TIME", value_parser = value::<Timestamp>)]
    expires_at: Option<Timestamp>,
    /// The view that bounds what it sees, by its name in the file of views; without, it sees everything.
    #[arg(long, value_parser = value::<Line<1, 100>>)]
    view: Option<Line<1, 100>>,
}

#[derive(Debug, Args)]
pub struct Rotate {
    /// The key's id.
    id: Uuid,
    /// For how long the old secret opens too.
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = overlap)]
    overlap: Overlap,
}

/// Does what `command` says, beside a running service too.
///
/// # Errors
/// [`Error`].
pub async fn run(command: Command) -> Result<(), Error> {
    let config = Config::load()?;
    log_to_stderr(&config);
    let database = Database::open_beside_others(&config).await?;
    let done = execute(command, &config, &database).await;
    database.close().await;
    done
}

async fn execute(command: Command, config: &Config, database: &Database) -> Result<(), Error> {
    if config.migrate_on_start {
        database.migrate().await?;
    }
    let failed = |error| database::Error::Connect {
        place: database.place.clone(),
        error,
    };
    let pool = PgPool::connect_lazy_with(database.options.clone());
    let mut out = io::stdout();
    match command {
        Command::Create(Create {
            name,
            scopes,
            expires_at,
            view,
        }) => {
            let input = AccessKeyInput {
                name,
                scopes,
                expires_at,
                view,
            };
            if let Some(Invalid { detail, .. }) = input.wrong_view(&views(config)?) {
                return Err(Error::View { detail });
            }
            let mut fields = vec!["name", "scopes"];
            fields.extend(input.expires_at.map(|_| "expires_at"));
            fields.extend(input.view.as_ref().map(|_| "view"));
            let audit = Audit::of_command("create_access_key", &fields);
            let key = Key::generate(Uuid::now_v7()).map_err(io::Error::from)?;
            queries::create(&pool, key.id, &key.secret_hash(), &input, &audit)
                .await
                .map_err(failed)?;
            writeln!(out, "{key}")?;
        }
        Command::List => {
            for key in queries::all(&pool).await.map_err(failed)? {
                writeln!(out, "{}", line(&key))?;
            }
        }
        Command::Rotate(Rotate { id, overlap }) => {
            let key = Key::generate(id).map_err(io::Error::from)?;
            let audit = Audit::of_command("rotate_access_key", &["overlap_seconds"]);
            match queries::rotate(&pool, id, &key.secret_hash(), overlap, &audit)
                .await
                .map_err(failed)?
            {
                Rotated::Rotated(_) => writeln!(out, "{key}")?,
                Rotated::Ended => return Err(Error::EndedKey { id }),
                Rotated::NotFound => return Err(Error::NoSuchKey { id }),
            }
        }
        Command::Revoke { id } => {
            let audit = Audit::of_command("revoke_access_key", &[]);
            let revoked = queries::revoke(&pool, id, &audit).await.map_err(failed)?;
            revoked.ok_or(Error::NoSuchKey { id })?;
        }
    }
    Ok(())
}

/// A key in one line.
fn line(key: &AccessKey) -> String {
    let state = match (key.revoked_at, key.expires_at) {
        (Some(at), _) => format!("revoked {at}"),
        (None, Some(at)) if at <= Timestamp::now() => format!("expired {at}"),
        (None, Some(at)) => format!("until {at}"),
        (None, None) => "valid".to_owned(),
    };
    let used = match key.last_used_at {
        Some(at) => format!("used {at}"),
        None => "never used".to_owned(),
    };
    let scopes = key.scopes.as_slice().join(",");
    let view = match &key.view {
        Some(view) => format!("view {}  ", view.as_str()),
        None => String::new(),
    };
    format!(
        "{}  {}  {scopes}  {view}{state}, {used}",
        key.id,
        key.name.as_str()
    )
}

fn value<T: std::str::FromStr<Err = Invalid>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|invalid: Invalid| invalid.detail)
}

fn scopes(text: &str) -> Result<Scopes, String> {
    let scopes: Vec<_> = text.split(',').map(str::to_owned).collect();
    Scopes::try_from(scopes).map_err(|invalid| invalid.detail)
}

fn overlap(text: &str) -> Result<Overlap, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    Overlap::try_from(seconds).map_err(|invalid| invalid.detail)
}
