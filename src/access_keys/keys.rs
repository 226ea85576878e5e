//! Whether a key opens, and whether one is needed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgPool;
use subtle::{Choice, ConstantTimeEq};
use uuid::Uuid;

use super::{
    key::{Key, SecretHash},
    queries::{self, Stored},
};

/// How long what is known of a key is relied on. So long a key that another instance revoked opens at
/// most; one that this instance revoked ends at once.
const TRUSTED: Duration = Duration::from_secs(5);
/// How long a key that is not used is remembered.
const REMEMBERED: Duration = Duration::from_hours(1);
/// How often the use of a key is written down.
const USE_INTERVAL: TimeDelta = TimeDelta::minutes(1);

/// When a key is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    Always,
    /// From the first key on, whatever became of it: on loopback. Were it until the last is revoked, a
    /// revocation would open the door to all.
    OnceOneWasMade,
}

/// Why a key does not open. For the log alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Malformed,
    Unknown,
    WrongSecret,
    Revoked,
    Expired,
}

/// What a key opens.
#[derive(Debug, Clone)]
pub struct Grant {
    pub id: Uuid,
    pub scopes: Arc<[String]>,
    /// The view that bounds what it sees.
    pub view: Option<String>,
}

/// The keys, and what was lately known of them.
#[derive(Debug, Clone)]
pub struct Keys {
    pool: PgPool,
    demand: Demand,
    cache: Arc<Mutex<Cache>>,
}

#[derive(Debug, Default)]
struct Cache {
    known: HashMap<Uuid, Known>,
    /// Whether a key was ever made, and when that was asked.
    any: Option<(bool, Instant)>,
    /// How often keys were written here: what was read before does not count any more.
    writes: u64,
}

#[derive(Debug)]
struct Known {
    key: Arc<Stored>,
    scopes: Arc<[String]>,
    used: Option<DateTime<Utc>>,
    read: Instant,
    /// The count of writes when it was read.
    writes: u64,
}

impl Cache {
    /// What is known of a key, if that can be relied on.
    fn trusted(&self, id: Uuid) -> Option<&Known> {
        let known = self.known.get(&id)?;
        (known.writes == self.writes && known.read.elapsed() < TRUSTED).then_some(known)
    }
}

impl Keys {
    #[must_use]
    pub fn new(pool: PgPool, demand: Demand) -> Self {
        Self {
            pool,
            demand,
            cache: Arc::default(),
        }
    }

    #[must_use]
    pub fn demand(&self) -> Demand {
        self.demand
    }

    /// Whether a request without a key is turned away.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn are_demanded(&self) -> sqlx::Result<bool> {
        Ok(self.demand == Demand::Always || self.were_ever_made().await?)
    }

    /// Whether there is a key, or was one.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn were_ever_made(&self) -> sqlx::Result<bool> {
        let writes = {
            let cache = self.cache();
            match cache.any {
                Some((any, read)) if read.elapsed() < TRUSTED => return Ok(any),
                _ => cache.writes,
            }
        };
        let any = queries::any(&self.pool).await?;
        let mut cache = self.cache();
        if cache.writes == writes {
            cache.any = Some((any, Instant::now()));
        }
        Ok(any)
    }

    /// Tells what the key in `token` opens, or why it does not.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn verify(&self, token: &str) -> sqlx::Result<Result<Grant, Fault>> {
        let Ok(key) = token.parse::<Key>() else {
            return Ok(Err(Fault::Malformed));
        };
        let Some((stored, scopes)) = self.known(key.id).await? else {
            return Ok(Err(Fault::Unknown));
        };
        let now = Utc::now();
        if let Err(fault) = check(&stored, &key.secret_hash(), now) {
            return Ok(Err(fault));
        }
        self.note_use(key.id, now);
        let view = stored.view.clone();
        Ok(Ok(Grant {
            id: key.id,
            scopes,
            view,
        }))
    }

    /// Whether the key in `token` opened when it was last looked up, within the hour. The database is not
    /// asked.
    #[must_use]
    pub fn is_in_use(&self, token: &str) -> bool {
        let Ok(key) = token.parse::<Key>() else {
            return false;
        };
        let cache = self.cache();
        let known = cache.known.get(&key.id);
        known.is_some_and(|known| check(&known.key, &key.secret_hash(), Utc::now()).is_ok())
    }

    /// Forgets what is known of the keys, after one was written.
    pub fn forget(&self) {
        let mut cache = self.cache();
        cache.any = None;
        cache.writes += 1;
    }

    async fn known(&self, id: Uuid) -> sqlx::Result<Option<(Arc<Stored>, Arc<[String]>)>> {
        let writes = {
            let cache = self.cache();
            if let Some(known) = cache.trusted(id) {
                return Ok(Some((known.key.clone(), known.scopes.clone())));
            }
            cache.writes
        };
        // An id that is not there is not remembered: there are more of those than of memory.
        let Some(stored) = queries::stored(&self.pool, id).await? else {
            return Ok(None);
        };
        let known = Known {
            scopes: stored.scopes.clone().into(),
            used: stored.last_used_at,
            key: stored.into(),
            read: Instant::now(),
            writes,
        };
        let answer = (known.key.clone(), known.scopes.clone());
        let mut cache = self.cache();
        if cache.writes == writes {
            cache
                .known
                .retain(|_, known| known.read.elapsed() < REMEMBERED);
            cache.known.insert(id, known);
        }
        Ok(Some(answer))
    }

    /// Writes down that the key is used, behind the request and not for each.
    fn note_use(&self, id: Uuid, now: DateTime<Utc>) {
        {
            let mut cache = self.cache();
            let Some(known) = cache.known.get_mut(&id) else {
                return;
            };
            if known.used.is_some_and(|used| now - used < USE_INTERVAL) {
                return;
            }
            known.used = Some(now);
        }
        let pool = self.pool.clone();
        tokio::spawn(async move {
            if let Err(error) = queries::note_use(&pool, id).await {
                tracing::warn!("the use of a key could not be written down: {error}");
            }
        });
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a key does not open with a secret.
fn check(stored: &Stored, hash: &SecretHash, now: DateTime<Utc>) -> Result<(), Fault> {
    if !opens(stored, hash, now) {
        Err(Fault::WrongSecret)
    } else if stored.revoked {
        Err(Fault::Revoked)
    } else if stored.expires_at.is_some_and(|end| end <= now) {
        Err(Fault::Expired)
    } else {
        Ok(())
    }
}

/// Whether the secret is the key's, or in an overlap the one that it had before. How long that takes
/// tells nothing of how much of it is right.
fn opens(stored: &Stored, hash: &SecretHash, now: DateTime<Utc>) -> bool {
    let present = stored.secret_hash.ct_eq(hash);
    let previous = match (&stored.previous_secret_hash, stored.previous_valid_until) {
        (Some(previous), Some(until)) if until > now => previous.ct_eq(hash),
        _ => Choice::from(0),
    };
    (present | previous).into()
}
