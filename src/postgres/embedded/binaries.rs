//! Finds the server binaries that are installed.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::Error;
use super::identity::Identity;
use crate::postgres::OLDEST_MAJOR;

/// The version of a server, as major and minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// A folder with `postgres` and `initdb` that the server's user can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    pub folder: PathBuf,
    pub version: Version,
}

/// Where installed binaries are looked for.
#[derive(Debug, Clone)]
pub struct Search {
    /// Folders as in the variable `PATH`: looked through for `postgres` and for `pg_config`.
    pub path: Option<OsString>,
    /// Folders with one `*` each, for any text within one name.
    pub patterns: Vec<String>,
}

impl Search {
    /// `PATH` and the folders in which the packages of Debian, Red Hat, Homebrew and Postgres.app
    /// put servers.
    #[must_use]
    pub fn this_machine() -> Self {
        let patterns = [
            "/usr/lib/postgresql/*/bin",
            "/usr/pgsql-*/bin",
            "/opt/homebrew/opt/postgresql@*/bin",
            "/usr/local/opt/postgresql@*/bin",
            "/Applications/Postgres.app/Contents/Versions/*/bin",
        ];
        Self {
            path: std::env::var_os("PATH"),
            patterns: patterns.map(str::to_owned).to_vec(),
        }
    }

    /// All usable binaries, the newest first. `further` are folders to look at besides.
    pub(super) fn find(&self, further: &[PathBuf], identity: &Identity) -> Vec<Binaries> {
        let mut found: Vec<Binaries> = Vec::new();
        for folder in self.folders().iter().chain(further) {
            if let Ok(binaries) = Binaries::at(folder, identity)
                && !found.contains(&binaries)
            {
                found.push(binaries);
            }
        }
        found.sort_by_key(|binaries| std::cmp::Reverse(binaries.version));
        found
    }

    fn folders(&self) -> Vec<PathBuf> {
        let path = self.path.iter().flat_map(std::env::split_paths);
        let mut folders: Vec<PathBuf> = path.filter(|folder| folder.is_absolute()).collect();
        let configured: Vec<PathBuf> = folders
            .iter()
            .filter_map(|folder| configured(&folder.join("pg_config")))
            .collect();
        folders.extend(configured);
        folders.extend(self.patterns.iter().flat_map(|pattern| expand(pattern)));
        folders
    }
}

impl Binaries {
    /// The binaries in `folder`, or why they are of no use.
    pub(super) fn at(folder: &Path, identity: &Identity) -> Result<Self, String> {
        let postgres = folder.join("postgres");
        // PATH often holds a lone link to the server; its fellows are where the link leads.
        let postgres = postgres
            .canonicalize()
            .map_err(|error| format!("{}: {error}", postgres.display()))?;
        let folder = postgres.parent().unwrap_or(folder).to_owned();
        if !folder.join("initdb").is_file() {
            return Err(format!("there is no initdb in {}", folder.display()));
        }
        let output = identity
            .command(&postgres)
            .arg("--version")
            .output()
            .map_err(|error| format!("{} does not run: {error}", postgres.display()))?;
        let answer = String::from_utf8_lossy(&output.stdout);
        let version = parse_version(&answer)
            .filter(|_| output.status.success())
            .ok_or_else(|| {
                let complaint = String::from_utf8_lossy(&output.stderr);
                let complaint = complaint.lines().next().unwrap_or("it tells no version");
                format!("{} does not run: {complaint}", postgres.display())
            })?;
        if version.major < OLDEST_MAJOR {
            return Err(format!("its server is version {version}"));
        }
        Ok(Self { folder, version })
    }

    /// The binaries in a folder that was named by hand.
    pub(super) fn named(folder: &Path, identity: &Identity) -> Result<Self, Error> {
        Self::at(folder, identity).map_err(|reason| Error::BinDir {
            dir: folder.to_owned(),
            reason,
        })
    }

    /// The binaries to use where the data folder holds clusters of these majors: data decides,
    /// since a cluster is read by its own major alone, and a newer server would begin an empty one
    /// beside it.
    pub(super) fn for_clusters(found: &[Self], clusters: &[u32]) -> Option<Self> {
        found
            .iter()
            .find(|binaries| clusters.is_empty() || clusters.contains(&binaries.version.major))
            .cloned()
    }
}

/// The folder that `pg_config` names.
fn configured(program: &Path) -> Option<PathBuf> {
    if !program.is_file() {
        return None;
    }
    let output = Command::new(program).arg("--bindir").output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(folder.trim_end()))
}

/// The folders that match a pattern with one `*` in one of its names.
fn expand(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return vec![PathBuf::from(pattern)];
    };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let (suffix, below) = after.split_once('/').unwrap_or((after, ""));
    let Ok(entries) = fs::read_dir(Path::new("/").join(parent)) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            name.to_str()
                .and_then(|name| name.strip_prefix(prefix))
                .is_some_and(|rest| rest.ends_with(suffix))
        })
        .map(|entry| entry.path().join(below))
        .collect()
}

/// Reads `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`; the minor of a beta such as
/// `18beta1` counts as 0.
fn parse_version(answer: &str) -> Option<Version> {
    let text = answer.strip_prefix("postgres (PostgreSQL) ")?;
    let digits = |text: &str| -> Option<u32> {
        let end = text
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(text.len());
        text.get(..end)?.parse().ok()
    };
    let minor = text.split_whitespace().next()?.split_once('.');
    Some(Version {
        major: digits(text)?,
        minor: minor.and_then(|(_, minor)| digits(minor)).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binaries(major: u32, minor: u32) -> Binaries {
        Binaries {
            folder: PathBuf::from("/nowhere"),
            version: Version { major, minor },
        }
    }

    #[test]
    fn versions_are_read_from_what_servers_say() {
        for (answer, version) in [
            (
                "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n",
                Some((15, 18)),
            ),
            ("postgres (PostgreSQL) 9.6.24\n", Some((9, 6))),
            ("postgres (PostgreSQL) 18beta1\n", Some((18, 0))),
            ("postgres (EnterpriseDB) 15.1\n", None),
            ("", None),
        ] {
            let expected = version.map(|(major, minor)| Version { major, minor });
            assert_eq!(parse_version(answer), expected, "{answer}");
        }
    }

    #[test]
    fn the_newest_server_is_taken_where_there_is_no_data() {
        let found = [binaries(17, 2), binaries(15, 18)];
        assert_eq!(Binaries::for_clusters(&found, &[]), Some(binaries(17, 2)));
    }

    #[test]
    fn data_decides_for_its_own_major_when_a_newer_server_is_installed() {
        let found = [binaries(17, 2), binaries(15, 18)];
        assert_eq!(
            Binaries::for_clusters(&found, &[15]),
            Some(binaries(15, 18))
        );
        assert_eq!(
            Binaries::for_clusters(&found, &[15, 17]),
            Some(binaries(17, 2))
        );
        assert_eq!(Binaries::for_clusters(&found, &[16]), None);
    }

    #[test]
    fn a_pattern_matches_within_one_name() -> std::io::Result<()> {
        let root = std::env::temp_dir().join(format!("member-mail-pattern-{}", std::process::id()));
        for name in ["pgsql-15/bin", "pgsql-17/bin", "other/bin"] {
            fs::create_dir_all(root.join(name))?;
        }
        let mut found = expand(&format!("{}/pgsql-*/bin", root.display()));
        found.sort();
        assert_eq!(
            found,
            [root.join("pgsql-15/bin"), root.join("pgsql-17/bin")]
        );
        assert!(expand(&format!("{}/none-*/bin", root.display())).is_empty());
        fs::remove_dir_all(&root)
    }
}
