//! How the items of a batch are written, together or each by itself.

use std::collections::BTreeSet;

use sqlx::{Connection, PgConnection, error::DatabaseError};

use super::{Batch, ItemAnswer};
use crate::{
    http::{audit::Audit, decode::MAX_ERRORS},
    problem::{Code, FieldError, Problem},
};

/// How many errors of one item are named at most: the answer to a thousand wrong items must not be
/// many times as large as they are.
const MAX_ERRORS_OF_ITEM: usize = 10;
/// How often a batch is tried that meets other writes, which have gone by then.
const ATTEMPTS: usize = 5;

/// What became of an item.
#[derive(Debug, Clone)]
pub enum Outcome<R> {
    Created(R),
    /// It was there already.
    Standing(R),
    Refused(Problem),
}

impl<T> Batch<T> {
    /// Writes what could be read by `write`, and answers what became of all items.
    ///
    /// `write` says what became of each that it was given, together with `settings`; none if it met
    /// another write that has gone. It is then tried again. With each item comes who writes it.
    ///
    /// # Errors
    /// [`Code::BatchRefused`] if `atomic` and one of the items is refused.
    pub async fn write<R, S: Copy>(
        self,
        connection: &mut PgConnection,
        atomic: bool,
        audit: &Audit,
        settings: S,
        write: impl AsyncFn(
            &mut PgConnection,
            &[(&T, Audit)],
            S,
        ) -> sqlx::Result<Option<Vec<Outcome<R>>>>,
    ) -> Result<Vec<ItemAnswer<R>>, Problem> {
        let items = self.items.iter().enumerate();
        let readable =
            items.filter_map(|(index, item)| Some((item.as_ref().ok()?, audit.of_item(index))));
        let readable: Vec<(&T, Audit)> = readable.collect();
        for attempt in 1..=ATTEMPTS {
            let mut transaction = connection.begin().await?;
            let written = match write(&mut transaction, &readable, settings).await {
                Err(error) if attempt < ATTEMPTS && met_another(&error) => None,
                written => written?,
            };
            let Some(written) = written else {
                transaction.rollback().await?;
                continue;
            };
            let outcomes = self.outcomes(written);
            if let Some(problem) = refused(&outcomes).filter(|_| atomic) {
                transaction.rollback().await?;
                return Err(problem);
            }
            transaction.commit().await?;
            let answers = outcomes.into_iter();
            let answers = answers.map(|outcome| outcome.into_answer(&self.public_url));
            return Ok(answers.collect());
        }
        Err(Code::WriteConflict.into())
    }

    /// Puts what could not be read among what was written.
    fn outcomes<R>(&self, written: Vec<Outcome<R>>) -> Vec<Outcome<R>> {
        let mut written = written.into_iter();
        let outcomes = self.items.iter().enumerate().filter_map(|(index, item)| {
            let outcome = match item {
                Ok(_) => written.next()?,
                Err(problem) => Outcome::Refused(problem.clone()),
            };
            Some(outcome.at(index))
        });
        outcomes.collect()
    }
}

impl<R> Outcome<R> {
    /// Says of what is wrong where in the request it stands.
    fn at(self, index: usize) -> Self {
        let Self::Refused(mut problem) = self else {
            return self;
        };
        problem.errors.truncate(MAX_ERRORS_OF_ITEM);
        if problem.errors.is_empty() {
            let code = problem.code.as_str();
            let detail = problem.detail.as_deref();
            let detail = detail.unwrap_or_else(|| problem.code.entry().advice);
            let error = FieldError::at_pointer([], code, detail);
            problem.errors.push(error);
        }
        let steps = format!("/items/{index}");
        let errors = problem.errors.into_iter();
        problem.errors = errors.map(|error| error.within(&steps)).collect();
        Self::Refused(problem)
    }
}

/// What refuses all items, if any is refused.
fn refused<R>(outcomes: &[Outcome<R>]) -> Option<Problem> {
    let problems = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Refused(problem) => Some(problem),
        _ => None,
    });
    let failed = problems.clone().count();
    if failed == 0 {
        return None;
    }
    let errors = problems.flat_map(|problem| &problem.errors);
    let detail = format!(
        "{failed} of {} items cannot be written, so none was.",
        outcomes.len()
    );
    let problem = Problem::from(Code::BatchRefused).with_detail(detail);
    Some(problem.with_errors(errors.take(MAX_ERRORS).cloned().collect()))
}

/// Whether the statement met another write and may succeed once that one is done: both waited for
/// each other, or what it refers to was deleted under it.
fn met_another(error: &sqlx::Error) -> bool {
    let state = error.as_database_error().and_then(DatabaseError::code);
    matches!(state.as_deref(), Some("40P01" | "40001" | "23503"))
}

/// The order in which to write `items`, by index: that of their keys, so that batches of the same keys
/// wait for one another in turn and not in a circle. Where a key comes twice, that of the request,
/// in which the first is the one to win.
pub fn in_turn<T, K: Ord>(items: &[T], keys: impl Fn(&T) -> Vec<K>) -> Vec<usize> {
    let keys: Vec<_> = items.iter().map(keys).collect();
    let mut order: Vec<_> = (0..items.len()).collect();
    let mut seen = BTreeSet::new();
    if keys.iter().flatten().all(|key| seen.insert(key)) {
        order.sort_by_key(|index| &keys[*index]);
    }
    order
}
