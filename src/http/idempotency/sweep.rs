//! The removal of what has expired.

use std::{convert::Infallible, time::Duration};

use sqlx::PgPool;
use tokio::time::sleep;

use super::store;

/// Answers that are removed by one statement: few, so that it is over soon.
const BATCH: u64 = 500;

/// Removes expired answers every so often, for as long as it is polled.
pub async fn sweep(pool: &PgPool, interval: Duration) -> Infallible {
    loop {
        sleep(interval).await;
        loop {
            match store::delete_expired(pool, BATCH.cast_signed()).await {
                Ok(BATCH) => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!("expired idempotency keys could not be removed: {error}");
                    break;
                }
            }
        }
    }
}
