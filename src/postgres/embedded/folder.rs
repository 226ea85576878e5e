//! The data folder: where it really is, that it is ours alone, and the lock that keeps a second
//! instance out.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::Error;
use super::identity::Identity;
use super::{Lifetime, PORT, trust};

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
    ///
    /// For root the folder itself is root's, as is all in it but the clusters and the socket: the
    /// server's user can neither put a link into root's way nor claim a folder as its own.
    pub(super) fn open(data_dir: &Path, lifetime: Lifetime) -> Result<Self, Error> {
        let identity = Identity::choose()?;
        let path = place(resolve(data_dir, &identity)?, &identity, lifetime)?;
        let empty = claim(&path, &identity)?;
        let lock = lock(&path, &identity)?;
        if lifetime == Lifetime::Temporary && !empty {
            return Err(Error::NotEmpty { path });
        }
        let identity = match clusters(&path).last() {
            Some(newest) => identity.for_cluster(&path.join(format!("data-{newest}")))?,
            None => identity,
        };
        if identity.is_shared() {
            tracing::warn!(
                "there is no user postgres, so the server on {} runs as nobody: every other \
                 process of nobody can read the data; create the user postgres before the first \
                 start",
                path.display()
            );
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

    /// Opens the server's log anew and keeps the one before, so that neither grows for ever. The
    /// file is always a new one, never what a link leads to.
    pub(super) fn open_log(&self) -> Result<File, Error> {
        let log = self.log();
        match fs::rename(&log, self.path.join("postgres.log.1")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::folder(&log)(error));
            }
            _ => {}
        }
        OpenOptions::new()
            .create_new(true)
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

    /// Makes the folder of the socket anew: a lock file left there by a killed server names a
    /// process id that may be another program's by now, and would keep the new server from
    /// starting.
    pub(super) fn make_socket(&self) -> Result<PathBuf, Error> {
        let socket = self.socket();
        let failed = |error| Error::folder(&socket)(error);
        match fs::symlink_metadata(&socket) {
            Ok(found) => {
                // In /tmp another user may have been first.
                let ours = [self.identity.own_uid(), self.identity.server_uid()];
                let ours = socket.starts_with(&self.path) || ours.contains(&found.uid());
                if !found.is_dir() || !ours {
                    return Err(self.identity.not_private(&socket, &found));
                }
                fs::remove_dir_all(&socket).map_err(failed)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        DirBuilder::new()
            .mode(0o700)
            .create(&socket)
            .and_then(|()| self.identity.give(&socket))
            .map_err(failed)?;
        Ok(socket)
    }
}

/// Where the data of `wanted` is: there, or for root in a folder of its own below `/var/tmp` if the
/// server's user could not enter it when the data was made.
fn place(wanted: PathBuf, identity: &Identity, lifetime: Lifetime) -> Result<PathBuf, Error> {
    if !identity.is_root() {
        return Ok(wanted);
    }
    let parent = wanted.parent().unwrap_or_else(|| Path::new("/"));
    let enters = identity.can_enter(parent);
    if !clusters(&wanted).is_empty() {
        return if enters {
            Ok(wanted)
        } else {
            Err(Error::OutOfReach {
                parent: parent.to_owned(),
                uid: identity.server_uid(),
                path: wanted,
            })
        };
    }
    let fallback = Path::new("/var/tmp").join(short_name(&wanted));
    if !enters {
        match fs::symlink_metadata(&fallback) {
            Ok(found) if !trust::is_own_folder(&fallback, identity.own_uid()) => {
                return Err(identity.not_private(&fallback, &found));
            }
            _ => {}
        }
        tracing::warn!(
            "the server's user cannot enter {}: the data is in {}",
            wanted.display(),
            fallback.display()
        );
        return Ok(fallback);
    }
    let ours = trust::is_own_folder(&fallback, identity.own_uid())
        && trust::is_own_file(&fallback.join("lock"), identity.own_uid());
    if lifetime == Lifetime::Persistent && ours && !clusters(&fallback).is_empty() {
        tracing::warn!(
            "the data stays in {}, where it was made; to have it in {}, stop the server and move \
             the folder there",
            fallback.display(),
            wanted.display()
        );
        return Ok(fallback);
    }
    Ok(wanted)
}

/// The absolute path of the data folder, free of links, its parent made.
fn resolve(data_dir: &Path, identity: &Identity) -> Result<PathBuf, Error> {
    let absolute = std::path::absolute(data_dir).map_err(Error::folder(data_dir))?;
    if identity.is_root() {
        trust::check_way(&absolute)?;
    }
    if let Ok(existing) = absolute.canonicalize() {
        return Ok(existing);
    }
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(Error::NotOurs { path: absolute });
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(parent)
        .map_err(Error::folder(parent))?;
    let parent = parent.canonicalize().map_err(Error::folder(parent))?;
    Ok(parent.join(name))
}

/// Makes or takes the folder, and tells whether it is empty. It may exist, as a mounted volume
/// does.
fn claim(path: &Path, identity: &Identity) -> Result<bool, Error> {
    let failed = |error| Error::folder(path)(error);
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let found = fs::symlink_metadata(path).map_err(failed)?;
    let own = found.is_dir() && found.uid() == identity.own_uid();
    // Before the folder is changed in any way: a DATA_DIR set to somebody's home must not cut them
    // off from it.
    if !own {
        return Err(identity.not_private(path, &found));
    }
    let empty = check_content(path)?;
    // What others could write to may hold what they put there, and a shared folder is not ours to
    // close.
    let shared = found.mode() & 0o1000 != 0;
    if trust::open_to_others(&found) && (shared || !empty) {
        return Err(identity.not_private(path, &found));
    }
    // The server's user passes through root's folder to what is its own in there.
    let mode = if identity.is_root() { 0o711 } else { 0o700 };
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(failed)?;
    if empty && !check_content(path)? {
        return Err(identity.not_private(path, &found));
    }
    Ok(empty)
}

/// Whether the folder is empty. One with files and without our lock is not ours to fill,
/// `lost+found` of a volume aside.
fn check_content(path: &Path) -> Result<bool, Error> {
    let failed = |error| Error::folder(path)(error);
    let mut empty = true;
    for entry in fs::read_dir(path).map_err(failed)? {
        empty &= entry.map_err(failed)?.file_name() == "lost+found";
    }
    if !empty && fs::symlink_metadata(path.join("lock")).is_err() {
        return Err(Error::NotOurs {
            path: path.to_owned(),
        });
    }
    Ok(empty)
}

fn lock(path: &Path, identity: &Identity) -> Result<File, Error> {
    let file = path.join("lock");
    let failed = |error| Error::folder(&file)(error);
    match fs::symlink_metadata(&file) {
        Ok(found) if !trust::is_own_file(&file, identity.own_uid()) => {
            return Err(identity.not_private(&file, &found));
        }
        _ => {}
    }
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(&file)
        .map_err(failed)?;
    // Who can open it can hold it, and keep the server from starting.
    lock.set_permissions(Permissions::from_mode(0o600))
        .map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Error::InUse {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(failed(error)),
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
