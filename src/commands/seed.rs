//! `member-mail seed`: a register to try things on, 18,993 persons, born one day after the other
//! from 1970-01-01 on, who joined 10,000 days later, their mail, what
//! some of them said about marketing mail, and some addresses that must not be mailed.

use std::{
    io::{self, Write},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};
use sqlx::{ConnectOptions, PgConnection};
use uuid::Uuid;

use super::{Error, log_to_stderr};
use crate::{
    config::Config,
    consents, mail_records, members,
    postgres::database::{self, Database},
    suppressions,
};

pub const PERSONS: u32 = 18_993;
/// Rows in a statement: large enough that round trips do not count, small enough to show progress.
const BATCH: usize = 5_000;
/// 2024-01-01T00:00:00Z in milliseconds: the time in the ids of the register.
const EPOCH: u64 = 1_704_067_200_000;

/// Fills the register. What is there already stays, so that it can be run again.
///
/// # Errors
/// [`Error`].
pub async fn run(mail: u32) -> Result<(), Error> {
    let config = Config::load()?;
    log_to_stderr(&config);
    let database = Database::open_beside_others(&config).await?;
    let filled = match database.migrate().await {
        Ok(()) => fill(&database, mail).await,
        Err(error) => Err(error),
    };
    database.close().await;
    let (members, records) = filled?;
    writeln!(
        io::stdout(),
        "Added {members} members and {records} mail records."
    )?;
    Ok(())
}

async fn fill(database: &Database, mail: u32) -> Result<(u64, u64), database::Error> {
    let failed = |error| database::Error::Connect {
        place: database.place.clone(),
        error,
    };
    let mut connection = database.options.connect().await.map_err(failed)?;
    let rows = u64::from(PERSONS) * u64::from(mail + 1);
    let bar = ProgressBar::new(rows);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} rows  {elapsed}")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    let (members, records) = insert_all(&mut connection, mail, &bar)
        .await
        .map_err(failed)?;
    bar.finish_and_clear();
    Ok((members, records))
}

/// Adds the persons, and `mail` mail records for each; says how many rows of both were new.
///
/// # Errors
/// If the database fails. What was added before stays.
pub async fn insert_all(
    connection: &mut PgConnection,
    mail: u32,
    bar: &ProgressBar,
) -> sqlx::Result<(u64, u64)> {
    // In front of the members, who are then written as what they are.
    insert_suppressions(connection).await?;
    let mut members = 0;
    let persons: Vec<u32> = (0..PERSONS).collect();
    for batch in persons.chunks(BATCH) {
        members += insert_members(connection, batch).await?;
        bar.inc(batch.len() as u64);
    }
    insert_consents(connection).await?;
    let mut records = 0;
    let mails: Vec<(u32, u32)> = (0..PERSONS)
        .flat_map(|person| (0..mail).map(move |number| (person, number)))
        .collect();
    for batch in mails.chunks(BATCH) {
        records += insert_mail_records(connection, batch).await?;
        bar.inc(batch.len() as u64);
    }
    // The plans of the first requests are made from what is there now.
    sqlx::raw_sql("ANALYZE members, mail_records, consents, suppressions")
        .execute(connection)
        .await?;
    Ok((members, records))
}

/// A UUIDv7 (RFC 9562, section 5.7) that is the same each time: of the person, or of her mail.
#[must_use]
pub fn id(person: u32, mail: Option<u32>) -> Uuid {
    match mail {
        None => fixed_id(EPOCH + u64::from(person), 0, person),
        Some(mail) => {
            let after = u64::from(PERSONS) * u64::from(mail + 1) + u64::from(person);
            fixed_id(EPOCH + after, mail + 1, person)
        }
    }
}

/// The same for the suppression of her address.
#[must_use]
pub fn suppression_id(person: u32) -> Uuid {
    fixed_id(EPOCH + u64::from(person), 0xfff, person)
}

/// The same for what she said about marketing mail.
#[must_use]
pub fn consent_id(person: u32) -> Uuid {
    fixed_id(EPOCH + u64::from(person), 0xffe, person)
}

fn fixed_id(milliseconds: u64, kind: u32, person: u32) -> Uuid {
    let number = u64::from(person) + 1;
    let mut random = [0; 10];
    // The first two bytes are rand_a (12 bits), the rest rand_b (62 bits).
    random[2..4].copy_from_slice(&u16::try_from(kind).unwrap_or(u16::MAX).to_be_bytes());
    random[4..].copy_from_slice(&number.to_be_bytes()[2..]);
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid()
}

async fn insert_members(connection: &mut PgConnection, persons: &[u32]) -> sqlx::Result<u64> {
    let ids: Vec<_> = persons.iter().map(|person| id(*person, None)).collect();
    let numbers: Vec<_> = persons.iter().map(|person| person.cast_signed()).collect();
    members::queries::insert_examples(connection, &ids, &numbers).await
}

async fn insert_suppressions(connection: &mut PgConnection) -> sqlx::Result<u64> {
    let persons = || (9..PERSONS).step_by(100);
    let ids: Vec<_> = persons().map(suppression_id).collect();
    let numbers: Vec<_> = persons().map(u32::cast_signed).collect();
    suppressions::queries::insert_examples(connection, &ids, &numbers).await
}

async fn insert_consents(connection: &mut PgConnection) -> sqlx::Result<u64> {
    let persons = || (0..PERSONS).step_by(10);
    let members: Vec<_> = persons().map(|person| id(person, None)).collect();
    let ids: Vec<_> = persons().map(consent_id).collect();
    consents::queries::insert_examples(connection, &members, &ids).await
}

async fn insert_mail_records(
    connection: &mut PgConnection,
    mails: &[(u32, u32)],
) -> sqlx::Result<u64> {
    let members: Vec<_> = mails.iter().map(|(person, _)| id(*person, None)).collect();
    let ids: Vec<_> = mails
        .iter()
        .map(|(person, mail)| id(*person, Some(*mail)))
        .collect();
    let numbers: Vec<_> = mails.iter().map(|(_, mail)| mail.cast_signed()).collect();
    mail_records::queries::insert_examples(connection, &members, &ids, &numbers).await
}
