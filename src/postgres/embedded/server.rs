//! The steps from a data folder to a server that answers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{ConnectOptions, Connection, PgConnection};

use super::binaries::{Binaries, Search};
use super::download::{self, Release};
use super::error::Error;
use super::folder::Folder;
use super::tether::Tether;
use super::{DATABASE, Lifetime, Options, PORT, SUPERUSER, cluster, takeover};

/// How often it is looked whether the server still runs.
const LOOK: Duration = Duration::from_secs(1);

/// Where server binaries come from on this machine.
#[derive(Debug, Clone)]
pub struct Machine {
    pub search: Search,
    /// What to fetch where nothing is found; none where there is nothing for this platform.
    pub release: Option<Release>,
}

impl Machine {
    #[must_use]
    pub fn this() -> Self {
        Self {
            search: Search::this_machine(),
            release: Release::pinned(),
        }
    }
}

/// A running server. It ends with this value and with this process, whichever goes first;
/// [`Server::stop`] also waits.
#[derive(Debug)]
pub struct Server {
    tether: Tether,
    socket: PathBuf,
    lifetime: Lifetime,
    // Last: the lock is given back after the server was told to end.
    folder: Folder,
}

impl Server {
    /// Starts the server of a data folder: finds or fetches binaries, makes the cluster where there
    /// is none, and ends a server that an earlier process left there.
    pub async fn start(options: Options) -> Result<Self, Error> {
        Self::start_on(options, Machine::this()).await
    }

    /// As [`Server::start`], with a say in where binaries come from.
    pub async fn start_on(options: Options, machine: Machine) -> Result<Self, Error> {
        let lifetime = options.lifetime;
        let data_dir = options.data_dir.clone();
        let folder = blocking(move || Folder::open(&data_dir, lifetime)).await??;
        let path = folder.path.clone();
        let server = run(folder, options, machine).await;
        if server.is_err() && lifetime == Lifetime::Temporary {
            let _ = blocking(move || std::fs::remove_dir_all(path)).await;
        }
        server
    }

    /// How to connect to it: as superuser, to the database `member_mail`, or to `postgres` in a
    /// temporary cluster.
    #[must_use]
    pub fn connect_options(&self) -> PgConnectOptions {
        let database = match self.lifetime {
            Lifetime::Persistent => DATABASE,
            Lifetime::Temporary => "postgres",
        };
        connect_options(&self.socket, PORT, database)
    }

    /// The folder of the data, which may differ from the one asked for: see the warning in the log.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.folder.path
    }

    /// The folder of the socket, for `psql -h`.
    #[must_use]
    pub fn socket_dir(&self) -> &Path {
        &self.socket
    }

    /// Returns once the server has ended by itself: killed, or after a fault of its own. What is
    /// left then is to [`stop`](Self::stop), which clears up.
    pub async fn lost(&mut self) {
        while matches!(self.tether.ended(), Ok(None)) {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Ends the server and waits until it is gone, 50 seconds at most. Open connections are cut.
    pub async fn stop(self) {
        let Self {
            mut tether,
            socket,
            lifetime,
            folder,
        } = self;
        if !cluster::stop(&mut tether).await {
            tracing::error!(
                "the server on {} (process {}) does not end",
                folder.path.display(),
                tether.pid()
            );
            return;
        }
        tether.helpers_gone(cluster::HELPERS).await;
        if lifetime == Lifetime::Temporary {
            let removed = blocking(move || {
                let _ = std::fs::remove_dir_all(&socket);
                std::fs::remove_dir_all(&folder.path).map_err(Error::folder(&folder.path))
            });
            if let Err(error) = removed.await.and_then(|removed| removed) {
                tracing::warn!("{error}");
            }
        }
    }
}

/// How to connect to a server of ours through the folder of its socket.
pub(super) fn connect_options(socket: &Path, port: u16, database: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .socket(socket)
        .port(port)
        .username(SUPERUSER)
        .database(database)
        // A socket has no TLS; PGSSLMODE in the environment is meant for other servers.
        .ssl_mode(PgSslMode::Disable)
}

async fn run(folder: Folder, options: Options, machine: Machine) -> Result<Server, Error> {
    let (folder, binaries) = choose(folder, &options, machine).await?;
    let major = binaries.version.major;
    let stale_pid = if folder.clusters().contains(&major) {
        takeover::take_over(&folder.cluster(major)).await?
    } else {
        tracing::info!(
            "making a PostgreSQL {} cluster in {}",
            binaries.version,
            folder.path.display()
        );
        cluster::make(&folder, &binaries, options.lifetime).await?;
        None
    };
    let socket = folder.make_socket()?;
    let tether = cluster::start(&folder, &binaries, options.lifetime, &socket, stale_pid).await?;
    cluster::remove_incomplete(&folder);
    let server = Server {
        tether,
        socket,
        lifetime: options.lifetime,
        folder,
    };
    server
        .make_database()
        .await
        .map_err(|source| Error::Connect {
            path: server.folder.path.clone(),
            source,
        })?;
    tracing::info!(
        "PostgreSQL {} runs on {}",
        binaries.version,
        server.folder.path.display()
    );
    Ok(server)
}

/// The binaries for what the folder holds.
async fn choose(
    folder: Folder,
    options: &Options,
    machine: Machine,
) -> Result<(Folder, Binaries), Error> {
    let Machine { search, release } = machine;
    let bin_dir = options.bin_dir.clone();
    let fetched = release
        .as_ref()
        .map(|release| release.bin_dir(&folder.path));
    let (folder, found) = blocking(move || {
        let found = match bin_dir {
            Some(dir) => vec![Binaries::named(&dir, &folder.identity)?],
            None => search.find(fetched.as_slice(), &folder.identity),
        };
        Ok::<_, Error>((folder, found))
    })
    .await??;

    let clusters = folder.clusters();
    if let Some(binaries) = Binaries::for_clusters(&found, &clusters) {
        return Ok((folder, binaries));
    }
    let release = release.filter(|_| options.bin_dir.is_none());
    let fits = |release: &Release| clusters.contains(&release.major());
    if !clusters.is_empty() && !release.as_ref().is_some_and(fits) {
        let majors: Vec<String> = clusters.iter().map(u32::to_string).collect();
        return Err(Error::NoServerForData {
            path: folder.path.clone(),
            majors: majors.join(" and "),
        });
    }
    let Some(release) = release else {
        return Err(Error::NoServer {
            reason: "there is none to fetch for this platform".to_owned(),
        });
    };
    let dir = download::fetch(&release, options.download_url.as_deref(), &folder.path).await?;
    blocking(move || {
        let binaries = Binaries::at(&dir, &folder.identity).map_err(|reason| Error::NoServer {
            reason: format!("the one that was fetched is of no use: {reason}"),
        })?;
        Ok((folder, binaries))
    })
    .await?
}

impl Server {
    async fn make_database(&self) -> sqlx::Result<()> {
        if self.lifetime == Lifetime::Temporary {
            return Ok(());
        }
        let mut connection: PgConnection = connect_options(&self.socket, PORT, "postgres")
            .connect()
            .await?;
        let exists: bool =
            sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
                .bind(DATABASE)
                .fetch_one(&mut connection)
                .await?;
        if !exists {
            sqlx::query("CREATE DATABASE member_mail")
                .execute(&mut connection)
                .await?;
        }
        connection.close().await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| Error::Cancelled)
}
