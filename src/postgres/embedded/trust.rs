//! Who else could lead root's steps elsewhere on the way to a data folder.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::error::Error;

const WRITABLE_BY_OTHERS: u32 = 0o022;
const WRITABLE_BY_ALL: u32 = 0o002;
const STICKY: u32 = 0o1000;
/// As many links as the system itself follows.
const LINKS_MAX: u32 = 40;
/// More bytes than a pid file ever has.
const SMALL: u64 = 1 << 16;

/// Whether users other than the owner can put files into a folder.
pub(super) fn open_to_others(metadata: &Metadata) -> bool {
    metadata.mode() & WRITABLE_BY_OTHERS != 0
}

/// Whether it is a folder in which `uid` alone can make, rename and remove files.
pub(super) fn is_own_folder(path: &Path, uid: u32) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| {
        metadata.is_dir() && metadata.uid() == uid && !open_to_others(&metadata)
    })
}

/// Whether it is a file, not a link, of `uid`.
pub(super) fn is_own_file(path: &Path, uid: u32) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.uid() == uid)
}

/// What a small file holds that another user may have put a link or a pipe in the place of.
pub(super) fn read_small(path: &Path) -> io::Result<String> {
    let not_a_file = || io::Error::new(io::ErrorKind::InvalidData, "it is no regular file");
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(not_a_file());
    }
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(not_a_file());
    }
    let mut content = String::new();
    file.take(SMALL).read_to_string(&mut content)?;
    Ok(content)
}

/// Refuses, for root, a path that any local user may have laid: one through a link of another user,
/// through a folder that everybody can change, or through another user's folder in a shared one as
/// `/tmp`. What is not there yet is no matter.
///
/// Another user's folder elsewhere, a home or a mounted checkout, was put there by root; to work in
/// it is root's own choice, of which the log tells.
pub(super) fn check_way(path: &Path) -> Result<(), Error> {
    let mut here = PathBuf::from("/");
    let mut ahead = names(path);
    let mut links = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            here.pop();
            continue;
        }
        let next = here.join(name);
        let found = match fs::symlink_metadata(&next) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found.map_err(Error::folder(&next))?,
        };
        let foreign = found.uid() != 0;
        let exposed = || Error::Exposed {
            path: path.to_owned(),
            by: next.clone(),
            owner: found.uid(),
            mode: found.mode() & 0o7777,
        };
        if found.is_symlink() {
            links += 1;
            if foreign || links > LINKS_MAX {
                return Err(exposed());
            }
            let target = fs::read_link(&next).map_err(Error::folder(&next))?;
            if target.is_absolute() {
                here = PathBuf::from("/");
            }
            ahead.extend(names(&target));
            continue;
        }
        // The last one is the data folder itself, which is looked at more closely than this.
        if !ahead.is_empty() {
            let shared = fs::symlink_metadata(&here).map_err(Error::folder(&here))?;
            let shared = open_to_others(&shared);
            let sticky = found.mode() & STICKY != 0;
            if (foreign && shared) || (found.mode() & WRITABLE_BY_ALL != 0 && !sticky) {
                return Err(exposed());
            }
            if foreign || (open_to_others(&found) && !sticky && found.gid() != 0) {
                tracing::warn!(
                    "users other than root (uid {}, gid {}) can change {}, and so put another \
                     folder in the place of {}",
                    found.uid(),
                    found.gid(),
                    next.display(),
                    path.display()
                );
            }
        }
        here = next;
    }
    Ok(())
}

/// The names in a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    let mut names: Vec<OsString> = names.collect();
    names.reverse();
    names
}
