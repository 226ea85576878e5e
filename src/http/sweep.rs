//! The removal of what has expired.

use std::{convert::Infallible, time::Duration};

use tokio::time::sleep;

/// Rows that are removed by one transaction: few, so that it is over soon.
const BATCH: u64 = 500;

/// Removes expired `rows` every so often, for as long as it is polled. `remove` is told how many to
/// remove at most, and says how many it did.
pub async fn sweep<F>(interval: Duration, rows: &str, remove: impl Fn(i64) -> F) -> Infallible
where
    F: Future<Output = sqlx::Result<u64>>,
{
    loop {
        sleep(interval).await;
        loop {
            match remove(BATCH.cast_signed()).await {
                Ok(BATCH) => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!("expired {rows} could not be removed: {error}");
                    break;
                }
            }
        }
    }
}
