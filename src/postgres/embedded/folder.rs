//! The data folder: where it really is, that it is ours alone, and the lock that keeps a second
//! instance out.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::Error;
use super::identity::{self, Identity};
use super::{Lifetime, PORT};

/// Longest path of a socket in bytes: macOS takes 103, Linux 107.
const SOCKET_PATH_MAX: usize = 103;

/// A data folder that this process holds the lock of.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) identity: Identity,
    _lock: File,
}

impl Folder {
    /// Makes the folder where needed, checks that it is ours and takes its lock.
    pub(super) fn open(data_dir: &Path, lifetime: Lifetime) -> Result<Self, Error> {
        let wanted = resolve(data_dir)?;
        let identity = Identity::choose(data_owner(&wanted))?;
        let parent = wanted.parent().unwrap_or_else(|| Path::new("/"));
        let (path, identity) = if identity.is_root() && !identity.can_enter(parent) {
            let path = Path::new("/var/tmp").join(short_name(&wanted));
            let identity = Identity::choose(data_owner(&path))?;
            make_private(&path, &identity)?;
            tracing::warn!(
                "the server's user cannot enter {}: the data is in {}",
                wanted.display(),
                path.display()
            );
            (path, identity)
        } else {
            claim(&wanted, &identity)?;
            (wanted, identity)
        };

        let empty = check_content(&path)?;
        let lock = lock(&path, &identity)?;
        if lifetime == Lifetime::Temporary && !empty {
            return Err(Error::NotEmpty { path });
        }
        Ok(Self {
            path,
            identity,
            _lock: lock,
        })
    }

    /// The major versions that this folder holds a complete cluster of.
    pub(super) fn clusters(&self) -> Vec<u32> {
        clusters(&self.path)
    }

    pub(super) fn cluster(&self, major: u32) -> PathBuf {
        self.path.join(format!("data-{major}"))
    }

    pub(super) fn log(&self) -> PathBuf {
        self.path.join("postgres.log")
    }

    /// Opens the server's log anew and keeps the one before, so that neither grows for ever.
    pub(super) fn open_log(&self) -> Result<File, Error> {
        let log = self.log();
        let _ = fs::rename(&log, self.path.join("postgres.log.1"));
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&log)
            .map_err(Error::folder(&log))
    }

    /// The folder of the socket: in the data folder, or a short one where that path would be too
    /// long to connect to.
    pub(super) fn socket(&self) -> PathBuf {
        let socket = self.path.join("socket");
        let longest = socket.join(format!(".s.PGSQL.{PORT}"));
        if longest.as_os_str().len() <= SOCKET_PATH_MAX {
            socket
        } else {
            Path::new("/tmp").join(short_name(&self.path))
        }
    }

    /// Makes the folder of the socket and clears it: a lock file left there by a killed server
    /// names a process id that may be another program's by now, and would keep the new server from
    /// starting.
    pub(super) fn make_socket(&self) -> Result<PathBuf, Error> {
        let socket = self.socket();
        make_private(&socket, &self.identity)?;
        for name in [format!(".s.PGSQL.{PORT}"), format!(".s.PGSQL.{PORT}.lock")] {
            let stale = socket.join(name);
            match fs::remove_file(&stale) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::folder(&stale)(error));
                }
                _ => {}
            }
        }
        Ok(socket)
    }
}

/// The absolute path of the data folder, free of links, its parent made.
fn resolve(data_dir: &Path) -> Result<PathBuf, Error> {
    let absolute = std::path::absolute(data_dir).map_err(Error::folder(data_dir))?;
    if let Ok(existing) = absolute.canonicalize() {
        return Ok(existing);
    }
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(Error::NotOurs { path: absolute });
    };
    fs::create_dir_all(parent).map_err(Error::folder(parent))?;
    let parent = parent.canonicalize().map_err(Error::folder(parent))?;
    Ok(parent.join(name))
}

/// Makes or takes the folder that was asked for. It may exist, as a mounted volume does.
fn claim(path: &Path, identity: &Identity) -> Result<(), Error> {
    let failed = |error| Error::folder(path)(error);
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let metadata = fs::metadata(path).map_err(failed)?;
    if !identity.is_root() && metadata.uid() != identity.own_uid() {
        return Err(Error::NotPrivate {
            path: path.to_owned(),
            owner: metadata.uid(),
            mode: metadata.mode() & 0o7777,
        });
    }
    // Before the folder is changed in any way: a DATA_DIR set to somebody's home must not cut them
    // off from it.
    check_content(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)?;
    identity.give(path).map_err(failed)
}

/// Makes a folder in a place where every local user may write, or takes one that is surely ours:
/// one that another user made first would let them read the data or speak to the server.
fn make_private(path: &Path, identity: &Identity) -> Result<(), Error> {
    let failed = |error| Error::folder(path)(error);
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let metadata = fs::symlink_metadata(path).map_err(failed)?;
    let ours = metadata.uid() == identity.server_uid() || metadata.uid() == identity.own_uid();
    if !metadata.is_dir() || !ours || metadata.mode() & 0o077 != 0 {
        return Err(Error::NotPrivate {
            path: path.to_owned(),
            owner: metadata.uid(),
            mode: metadata.mode() & 0o7777,
        });
    }
    identity.give(path).map_err(failed)
}

/// Whether the folder is empty. One with files and without our lock is not ours to fill,
/// `lost+found` of a volume aside.
fn check_content(path: &Path) -> Result<bool, Error> {
    let failed = |error| Error::folder(path)(error);
    let mut empty = true;
    for entry in fs::read_dir(path).map_err(failed)? {
        empty &= entry.map_err(failed)?.file_name() == "lost+found";
    }
    if !empty && !path.join("lock").exists() {
        return Err(Error::NotOurs {
            path: path.to_owned(),
        });
    }
    Ok(empty)
}

fn lock(path: &Path, identity: &Identity) -> Result<File, Error> {
    let file = path.join("lock");
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&file)
        .map_err(Error::folder(&file))?;
    // The server's user may be the one to start it next time.
    identity.give(&file).map_err(Error::folder(&file))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Error::InUse {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(Error::folder(&file)(error)),
    }
}

fn clusters(path: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(path) else {
        return Vec::new();
    };
    let mut majors: Vec<u32> = entries
        .flatten()
        .filter(|entry| entry.path().join("PG_VERSION").exists())
        .filter_map(|entry| {
            let name = entry.file_name();
            name.to_str()?.strip_prefix("data-")?.parse().ok()
        })
        .collect();
    majors.sort_unstable();
    majors
}

fn data_owner(path: &Path) -> Option<(u32, u32)> {
    let newest = *clusters(path).last()?;
    identity::owner(&path.join(format!("data-{newest}")))
}

/// `member-mail-` and 16 hexadecimal digits: the same for the same path, short enough for a socket.
fn short_name(path: &Path) -> String {
    use std::fmt::Write;

    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let mut name = String::from("member-mail-");
    for byte in digest.iter().take(8) {
        let _ = write!(name, "{byte:02x}");
    }
    name
}
