//! Servers that an earlier owner left behind.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::error::Error;
use super::tether::{POLL, signal};
use super::trust;

/// How long a fast shutdown may take (its checkpoint writes out the cache) before the harder one
/// follows.
pub(super) const FAST: Duration = Duration::from_secs(30);
/// How long the immediate shutdown may take; the server itself kills its children after five
/// seconds.
pub(super) const IMMEDIATE: Duration = Duration::from_secs(15);

/// Ends a server that still runs on `cluster` and returns the process id that its pid file is left
/// with.
///
/// That id may be another program's by now. The caller passes it to the new server, which would
/// else refuse to start beside any live process of its own user. The file itself stays: the server
/// finds in it the shared memory of the earlier one, and with it backends that outlived their
/// postmaster.
pub(super) async fn take_over(cluster: &Path) -> Result<Option<u32>, Error> {
    let Some(pid) = recorded_pid(cluster)? else {
        return Ok(None);
    };
    for (name, limit) in [("INT", FAST), ("QUIT", IMMEDIATE)] {
        if !is_postmaster(pid, cluster) {
            return Ok(Some(pid));
        }
        tracing::warn!(
            "process {pid} is a server left running on {}: ending it",
            cluster.display()
        );
        signal(pid, name);
        let begin = Instant::now();
        while is_postmaster(pid, cluster) && begin.elapsed() < limit {
            tokio::time::sleep(POLL).await;
        }
    }
    if is_postmaster(pid, cluster) {
        return Err(Error::StillRunning {
            path: cluster.to_owned(),
            pid,
        });
    }
    Ok(Some(pid))
}

/// The process id in the pid file. A file without one, which a full disk leaves, says nothing and
/// would keep every server from starting: it is removed.
fn recorded_pid(cluster: &Path) -> Result<Option<u32>, Error> {
    let file = cluster.join("postmaster.pid");
    let content = match trust::read_small(&file) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::folder(&file)(error)),
    };
    if let Some(pid) = content.lines().next().and_then(|line| line.parse().ok()) {
        return Ok(Some(pid));
    }
    fs::remove_file(&file).map_err(Error::folder(&file))?;
    Ok(None)
}

/// Whether the process is a postmaster on this very cluster. A process id alone proves nothing:
/// after a restart of the machine or of the container it is somebody else's, perhaps even another
/// cluster's server.
fn is_postmaster(pid: u32, cluster: &Path) -> bool {
    if Path::new("/proc/self/cmdline").exists() {
        seen_in_proc(pid, cluster)
    } else {
        seen_by_ps(pid, cluster)
    }
}

fn seen_in_proc(pid: u32, cluster: &Path) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    let Ok(command_line) = fs::read(process.join("cmdline")) else {
        return false;
    };
    let mut arguments = command_line.split(|byte| *byte == 0).map(OsStr::from_bytes);
    // A backend calls itself "postgres: ..." and so does not match.
    if arguments
        .next()
        .and_then(|program| Path::new(program).file_name())
        != Some(OsStr::new("postgres"))
    {
        return false;
    }
    // A postmaster works in its data folder. Where that may not be read, as by root in a container
    // without CAP_SYS_PTRACE, its arguments have to do.
    match (fs::metadata(process.join("cwd")), fs::metadata(cluster)) {
        (Ok(works_in), Ok(cluster)) => {
            (works_in.dev(), works_in.ino()) == (cluster.dev(), cluster.ino())
        }
        _ => {
            arguments.find(|argument| *argument == "-D").is_some()
                && arguments.next().map(Path::new) == Some(cluster)
        }
    }
}

fn seen_by_ps(pid: u32, cluster: &Path) -> bool {
    let Ok(output) = Command::new("ps")
        .args(["-ww", "-o", "args=", "-p", &pid.to_string()])
        .output()
    else {
        return false;
    };
    let line = String::from_utf8_lossy(&output.stdout);
    line.trim_end()
        .split_once(" -D ")
        .is_some_and(|(program, rest)| {
            program.ends_with("/postgres")
                && rest
                    .strip_prefix(&*cluster.to_string_lossy())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_in_the_data_folder_is_not_taken_for_its_server() -> io::Result<()> {
        let cluster = std::env::temp_dir().canonicalize()?;
        let mut child = Command::new("sleep")
            .arg("60")
            .current_dir(&cluster)
            .spawn()?;
        let seen = (
            seen_in_proc(child.id(), &cluster),
            seen_by_ps(child.id(), &cluster),
        );
        child.kill()?;
        child.wait()?;
        assert_eq!(seen, (false, false));
        Ok(())
    }

    #[test]
    fn a_pid_file_without_a_pid_is_removed() -> Result<(), Box<dyn std::error::Error>> {
        let cluster = std::env::temp_dir().join(format!("member-mail-pid-{}", std::process::id()));
        fs::create_dir(&cluster)?;
        fs::write(cluster.join("postmaster.pid"), "")?;
        assert_eq!(recorded_pid(&cluster)?, None);
        assert!(!cluster.join("postmaster.pid").exists());
        Ok(fs::remove_dir(&cluster)?)
    }
}
