//! Makes a cluster, starts its server and stops it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::binaries::Binaries;
use super::error::Error;
use super::folder::Folder;
use super::takeover::{FAST, IMMEDIATE};
use super::tether::{POLL, Tether, Tethered};
use super::{Lifetime, PORT, SUPERUSER, trust};

/// Begins the name of a cluster that is being made. It gets its real name once it is complete, so
/// that one with its real name is always whole.
const INCOMPLETE: &str = "initdb.incomplete-";

/// How long to wait for the processes beside a program once it has ended.
pub(super) const HELPERS: Duration = Duration::from_secs(5);

/// How long to wait for backends that outlived their postmaster to notice and end.
const BACKENDS: Duration = Duration::from_secs(20);

/// Makes the cluster for `binaries`.
pub(super) async fn make(
    folder: &Folder,
    binaries: &Binaries,
    lifetime: Lifetime,
) -> Result<(), Error> {
    // Text is ordered by code point either way; C.UTF-8 also knows the case of letters beyond
    // ASCII. Where the system lacks it, initdb says so before it does anything.
    let mut result = Err(String::new());
    for locale in ["C.UTF-8", "C"] {
        result = initdb(folder, binaries, lifetime, locale).await?;
        if result
            .as_ref()
            .err()
            .is_none_or(|reason| !reason.contains("locale"))
        {
            break;
        }
    }
    let made = result.map_err(|reason| {
        if reason.contains("could not look up effective user ID") {
            Error::UnnamedUser {
                uid: folder.identity.server_uid(),
            }
        } else {
            Error::Initdb {
                path: folder.path.clone(),
                reason,
            }
        }
    })?;
    let cluster = folder.cluster(binaries.version.major);
    fs::rename(&made, &cluster).map_err(Error::folder(&cluster))?;
    File::open(&folder.path)
        .and_then(|parent| parent.sync_all())
        .map_err(Error::folder(&folder.path))
}

/// Removes what killed initdbs left. To be called once the server runs: until then one may still be
/// about to end.
pub(super) fn remove_incomplete(folder: &Folder) {
    for entry in fs::read_dir(&folder.path).into_iter().flatten().flatten() {
        let unfinished = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(INCOMPLETE));
        if unfinished && let Err(error) = fs::remove_dir_all(entry.path()) {
            tracing::warn!("{} stays for now: {error}", entry.path().display());
        }
    }
}

/// Runs initdb. Returns the folder that it filled, or what it complained of.
async fn initdb(
    folder: &Folder,
    binaries: &Binaries,
    lifetime: Lifetime,
    locale: &str,
) -> Result<Result<PathBuf, String>, Error> {
    // A name of its own: an initdb that outlived its owner must not write into this one's folder,
    // nor clear it.
    let unfinished = folder
        .path
        .join(format!("{INCOMPLETE}{}", uuid::Uuid::now_v7()));
    DirBuilder::new()
        .mode(0o700)
        .create(&unfinished)
        .and_then(|()| folder.identity.give(&unfinished))
        .map_err(Error::folder(&unfinished))?;

    let arguments = [
        "--encoding=UTF8".to_owned(),
        format!("--locale={locale}"),
        format!("--username={SUPERUSER}"),
        "--auth=trust".to_owned(),
        "--no-instructions".to_owned(),
        // It would remove the files of its children while they still work.
        "--no-clean".to_owned(),
        match lifetime {
            Lifetime::Persistent => "--data-checksums",
            Lifetime::Temporary => "--no-sync",
        }
        .to_owned(),
        format!("--pgdata={}", unfinished.display()),
    ];
    let trash = match lifetime {
        Lifetime::Persistent => &unfinished,
        Lifetime::Temporary => &folder.path,
    };
    let tethered = Tethered {
        identity: &folder.identity,
        folder: &unfinished,
        log: folder.open_log()?,
        trash: &[trash],
    };
    let ended = match tethered.spawn(&binaries.folder.join("initdb"), arguments, &[]) {
        Ok(mut tether) => {
            let ended = tether.wait().await;
            tether.helpers_gone(HELPERS).await;
            ended
        }
        Err(error) => Err(error),
    };
    let reason = match ended {
        Ok(status) if status.success() => return Ok(Ok(unfinished)),
        Ok(status) => reason(&folder.log(), status),
        Err(error) => error.to_string(),
    };
    fs::remove_dir_all(&unfinished).map_err(Error::folder(&unfinished))?;
    Ok(Err(reason))
}

/// Starts the server on a cluster and waits until it takes connections.
///
/// `stale_pid` is the process id that an earlier server's pid file is left with.
pub(super) async fn start(
    folder: &Folder,
    binaries: &Binaries,
    lifetime: Lifetime,
    socket: &Path,
    stale_pid: Option<u32>,
) -> Result<Tether, Error> {
    let cluster = folder.cluster(binaries.version.major);
    let failed = |reason| Error::Start {
        path: cluster.clone(),
        reason,
        log: folder.log(),
    };
    // A copied folder has the mode of the copier's umask, with which the server refuses it.
    fs::set_permissions(&cluster, fs::Permissions::from_mode(0o700))
        .map_err(Error::folder(&cluster))?;
    // This is how pg_ctl tells the server of a process id in a pid file that is no other server's.
    let environment: Vec<(&str, String)> = stale_pid
        .map(|pid| ("PG_GRANDPARENT_PID", pid.to_string()))
        .into_iter()
        .collect();

    let begin = Instant::now();
    loop {
        let tethered = Tethered {
            identity: &folder.identity,
            folder: &cluster,
            log: folder.open_log()?,
            trash: match lifetime {
                Lifetime::Persistent => &[],
                Lifetime::Temporary => &[&folder.path, socket],
            },
        };
        let mut tether = tethered
            .spawn(
                &binaries.folder.join("postgres"),
                arguments(&cluster, socket, lifetime),
                &environment,
            )
            .map_err(|error| failed(error.to_string()))?;
        let status = match ready(&mut tether, &cluster).await {
            Ok(None) => return Ok(tether),
            Ok(Some(status)) => status,
            Err(error) => return Err(failed(error.to_string())),
        };
        let reason = reason(&folder.log(), status);
        // Backends whose postmaster was killed end by themselves, each when it next looks up from
        // its work.
        if !reason.contains("shared memory block") || begin.elapsed() > BACKENDS {
            return Err(failed(reason));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn arguments(cluster: &Path, socket: &Path, lifetime: Lifetime) -> Vec<OsString> {
    let mut arguments = vec![
        OsString::from("-D"),
        cluster.into(),
        "-k".into(),
        socket.into(),
        "-p".into(),
        PORT.to_string().into(),
    ];
    let mut settings = vec![
        "listen_addresses=",
        "max_connections=200",
        "timezone=UTC",
        "log_timezone=UTC",
        "logging_collector=off",
        // The log is for the server's own troubles. Failed statements are the application's, and
        // their text holds members' data.
        "log_min_messages=log",
        "log_checkpoints=off",
    ];
    if lifetime == Lifetime::Temporary {
        settings.extend([
            "fsync=off",
            "synchronous_commit=off",
            "full_page_writes=off",
            // In the data folder, which goes away: a killed server would leave it in /dev/shm.
            "dynamic_shared_memory_type=mmap",
        ]);
    }
    for setting in settings {
        arguments.extend(["-c".into(), setting.into()]);
    }
    arguments
}

/// Waits until the server is ready, or returns how it ended. There is no limit: after a crash it
/// first replays its log, and cutting that short would only make the next start as long.
async fn ready(tether: &mut Tether, cluster: &Path) -> io::Result<Option<ExitStatus>> {
    let pid_file = cluster.join("postmaster.pid");
    let own = tether.pid().to_string();
    let mut told = Instant::now();
    loop {
        if let Some(status) = tether.ended()? {
            return Ok(Some(status));
        }
        let content = trust::read_small(&pid_file).unwrap_or_default();
        let mut lines = content.lines();
        if lines.next() == Some(&own) && lines.nth(6).map(str::trim) == Some("ready") {
            return Ok(None);
        }
        if told.elapsed() > Duration::from_secs(5) {
            tracing::info!("still waiting for the server on {}", cluster.display());
            told = Instant::now();
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Ends the server: a fast shutdown, and where that hangs an immediate one.
pub(super) async fn stop(tether: &mut Tether) -> bool {
    for (name, limit) in [("INT", FAST), ("QUIT", IMMEDIATE)] {
        tether.signal(name);
        if tokio::time::timeout(limit, tether.wait()).await.is_ok() {
            return true;
        }
        tracing::warn!("the server does not end on SIG{name}");
    }
    false
}

/// The line of the log that tells why a program ended.
fn reason(log: &Path, status: ExitStatus) -> String {
    let content = fs::read(log).unwrap_or_default();
    let content = String::from_utf8_lossy(&content);
    let telling = ["FATAL:", "PANIC:", "error:"]
        .iter()
        .find_map(|mark| content.lines().find(|line| line.contains(mark)));
    telling
        .or_else(|| content.lines().rfind(|line| !line.trim().is_empty()))
        .map_or_else(
            || format!("it ended with {status}"),
            |line| line.trim().to_owned(),
        )
}
