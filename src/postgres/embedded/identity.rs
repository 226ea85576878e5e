//! The user that the server runs as. Postgres refuses root, and root is what a container usually
//! is.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::error::Error;

/// Variables that a server built outside the usual folders needs. All others are kept from it:
/// `PGPORT`, `PGDATA` and their kin would change what it does, and secrets of the application are
/// none of its business.
const PASSED_ON: [&str; 4] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
];

/// Who runs the server: ourselves, or as root another user.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    own_uid: u32,
    other: Option<(u32, u32)>,
    /// The other one is `nobody`, whom programs of all kinds run as.
    shared: bool,
}

impl Identity {
    /// The user that this machine has for the server.
    pub(super) fn choose() -> Result<Self, Error> {
        let own_uid = id(&["-u"]).ok_or(Error::NoServerUser)?;
        if own_uid != 0 {
            return Ok(Self {
                own_uid,
                other: None,
                shared: false,
            });
        }
        let postgres = account("postgres");
        let other = postgres
            .or_else(|| account("nobody"))
            .ok_or(Error::NoServerUser)?;
        Ok(Self {
            own_uid,
            other: Some(other),
            shared: postgres.is_none(),
        })
    }

    /// The user for a cluster that is there. It is `nobody` where the user `postgres` was added
    /// later, and nobody else: root alone can have put the cluster into root's folder, yet a copy
    /// that kept its owners may belong to somebody who is not to read it.
    pub(super) fn for_cluster(self, cluster: &Path) -> Result<Self, Error> {
        if !self.is_root() {
            return Ok(self);
        }
        let found = fs::symlink_metadata(cluster).map_err(Error::folder(cluster))?;
        if [self.own_uid, self.server_uid()].contains(&found.uid()) {
            return Ok(self);
        }
        match account("nobody") {
            Some(nobody) if nobody.0 == found.uid() => Ok(Self {
                other: Some(nobody),
                shared: true,
                ..self
            }),
            _ => Err(Error::NotServers {
                path: cluster.to_owned(),
                owner: found.uid(),
                wanted: self.server_uid(),
            }),
        }
    }

    pub(super) fn is_root(&self) -> bool {
        self.own_uid == 0
    }

    pub(super) fn own_uid(&self) -> u32 {
        self.own_uid
    }

    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }

    /// The complaint about a file or folder that is not ours alone.
    pub(super) fn not_private(&self, path: &Path, found: &Metadata) -> Error {
        Error::NotPrivate {
            path: path.to_owned(),
            wanted: self.own_uid,
            owner: found.uid(),
            mode: found.mode() & 0o7777,
        }
    }

    /// The uid that the server runs with.
    pub(super) fn server_uid(&self) -> u32 {
        self.other.map_or(self.own_uid, |(uid, _)| uid)
    }

    /// A command that runs as the server's user, with a known environment and messages in English.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("LC_ALL", "C").current_dir("/");
        for name in PASSED_ON {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        if let Some((uid, gid)) = self.other {
            command.gid(gid).uid(uid);
        }
        command
    }

    /// Whether the server's user can reach `folder`. Asked of the system rather than read from mode
    /// bits, which tell nothing about access lists and the folders above.
    pub(super) fn can_enter(&self, folder: &Path) -> bool {
        self.command("/bin/sh")
            .args(["-c", r#"cd -- "$1""#, "sh"])
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Hands `path` to the server's user. A link is handed over itself, never what it points to.
    pub(super) fn give(&self, path: &Path) -> io::Result<()> {
        match self.other {
            Some((uid, gid)) => lchown(path, Some(uid), Some(gid)),
            None => Ok(()),
        }
    }
}

fn account(name: &str) -> Option<(u32, u32)> {
    Some((id(&["-u", name])?, id(&["-g", name])?))
}

/// Asks `id`, which knows every source of users that the system has, where `/etc/passwd` knows one.
fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).output().ok()?;
    if !output.status.success() {
        return None;
    }
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
