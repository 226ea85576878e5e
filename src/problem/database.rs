//! What a failed query becomes. No SQL, no name of a constraint and no value leaves the process.

use sqlx::error::DatabaseError;

use super::{Code, Problem};

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        let code = code_of(&error);
        let sqlstate = error.as_database_error().and_then(DatabaseError::code);
        let constraint = error
            .as_database_error()
            .and_then(DatabaseError::constraint);
        let message = message_of(&error);
        if code == Code::InternalError {
            tracing::error!(
                sqlstate = sqlstate.as_deref(),
                constraint,
                "query failed: {message}"
            );
        } else {
            tracing::warn!(
                sqlstate = sqlstate.as_deref(),
                "database unavailable: {message}"
            );
        }
        code.into()
    }
}

/// What the log may say: nothing of the row.
///
/// Postgres puts values into the detail of an error, which is not printed here, and into the
/// message of two classes: 22, values that cannot be read or converted, and P0, what functions of
/// others raise.
fn message_of(error: &sqlx::Error) -> String {
    let class = error
        .as_database_error()
        .and_then(DatabaseError::code)
        .and_then(|state| state.get(..2).map(str::to_owned));
    match class.as_deref() {
        Some("22" | "P0") => "refused by the database (the message may name values)".to_owned(),
        _ => error.to_string(),
    }
}

fn code_of(error: &sqlx::Error) -> Code {
    match error {
        sqlx::Error::Database(error) => match error.code().as_deref() {
            // query_canceled and lock_not_available: a time limit of ours ended the statement.
            Some("57014" | "55P03") => Code::TimedOut,
            // serialization_failure and deadlock_detected: of two writes that were in each other's
            // way, this one was undone.
            Some("40001" | "40P01") => Code::WriteConflict,
            // Classes 08 (connection), 28 (who one is), 53 (resources), 57 (operator), no such
            // database, and one that may only be read, as while another takes over.
            Some("3D000" | "25006") => Code::DatabaseUnavailable,
            Some(state)
                if ["08", "28", "53", "57"].contains(&state.get(..2).unwrap_or_default()) =>
            {
                Code::DatabaseUnavailable
            }
            _ => Code::InternalError,
        },
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => Code::DatabaseUnavailable,
        _ => Code::InternalError,
    }
}

/// Turns a violated constraint into the problem that it means, where the statement is called.
pub trait OnConstraint<T> {
    /// # Errors
    /// The problem made by `problem` if the constraint `name` was violated; else what any failed
    /// query becomes.
    fn on_constraint(self, name: &str, problem: impl FnOnce() -> Problem) -> Result<T, QueryError>;
}

/// A failed query, on its way through one or more [`OnConstraint`]s.
#[derive(Debug)]
pub enum QueryError {
    Known(Problem),
    Unknown(sqlx::Error),
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Known(problem) => problem,
            QueryError::Unknown(error) => error.into(),
        }
    }
}

impl<T> OnConstraint<T> for Result<T, sqlx::Error> {
    fn on_constraint(self, name: &str, problem: impl FnOnce() -> Problem) -> Result<T, QueryError> {
        self.map_err(QueryError::Unknown)
            .on_constraint(name, problem)
    }
}

impl<T> OnConstraint<T> for Result<T, QueryError> {
    fn on_constraint(self, name: &str, problem: impl FnOnce() -> Problem) -> Result<T, QueryError> {
        self.map_err(|error| match error {
            QueryError::Unknown(sqlx::Error::Database(error)) if violates(&*error, name) => {
                QueryError::Known(problem())
            }
            other => other,
        })
    }
}

/// Whether `error` is a violation of the constraint `name`.
///
/// On Citus a constraint's name carries the number of the shard behind it.
fn violates(error: &dyn DatabaseError, name: &str) -> bool {
    error
        .constraint()
        .and_then(|found| found.strip_prefix(name))
        .is_some_and(|rest| {
            rest.is_empty()
                || rest.strip_prefix('_').is_some_and(|shard| {
                    !shard.is_empty() && shard.bytes().all(|b| b.is_ascii_digit())
                })
        })
}
