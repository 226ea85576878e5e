//! A child process that ends with its owner, however the owner ends.
//!
//! `sh` forks a watcher and becomes the program. The watcher waits at the end of a pipe that the
//! owner holds open: a clean end, a panic and `kill -9` all close it. A line sent through it
//! instead says that the program has ended and that the watcher may go; its process id may be
//! another program's from then on, so it must not be signalled.
//!
//! What is to be removed then is removed by a sweeper, at a word from the watcher. It runs as the
//! owner's user, since the server's user may not be able to remove the folder that it was given.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::identity::Identity;

/// How often the end of a process is looked for.
pub(super) const POLL: Duration = Duration::from_millis(10);

/// Starts the watcher, `$1`, and becomes the program. `$2` is the program's working folder.
const BEGIN: &str = r#"
exec 3<&0 4>&1
watcher=$1 folder=$2
shift 2
(/bin/sh -c "$watcher" member-mail-watcher $$ "$folder" <&3 >&4 2>/dev/null 3<&- 4>&- &)
exec "$@" </dev/null >&2 3<&-
"#;

/// `$1` is the program's process id, which is still the program's while it works in the folder
/// `$2`. The program alone is signalled, not its children: a server ends its own, and initdb's end
/// with their input. Standard output leads to the sweeper.
const WATCHER: &str = r#"
trap '' HUP INT QUIT TERM
runs() {
    if [ -d /proc/self ]; then [ "/proc/$1/cwd" -ef "$2" ]; else kill -0 "$1"; fi
}
await() {
    rounds=300
    while runs "$@" && [ "$rounds" -gt 0 ]; do
        sleep 0.1 || sleep 1
        rounds=$((rounds - 1))
    done
}
read -r _ && exit
kill -s INT "$1"
await "$@"
runs "$@" && kill -s QUIT "$1"
await "$@"
echo sweep
"#;

/// Waits for the word, then until nobody holds the other end any more: the program's children
/// inherit it too, and one whose files are removed while it works ends with an abort that leaves
/// its shared memory behind.
const SWEEPER: &str = r#"
trap '' HUP INT QUIT TERM
read -r _ || exit
cat >/dev/null
rm -rf -- "$@"
"#;

/// How to run a program on a tether.
#[derive(Debug)]
pub(super) struct Tethered<'a> {
    pub(super) identity: &'a Identity,
    /// The working folder; it must exist.
    pub(super) folder: &'a Path,
    pub(super) log: File,
    /// Removed when the owner goes away without a word.
    pub(super) trash: &'a [&'a Path],
}

/// The running program. Dropping it asks the program to end and does not wait.
#[derive(Debug)]
pub(super) struct Tether {
    child: Child,
    leash: Option<ChildStdin>,
    sweeper: Child,
}

impl Tethered<'_> {
    pub(super) fn spawn<S: AsRef<OsStr>>(
        self,
        program: &Path,
        arguments: impl IntoIterator<Item = S>,
        environment: &[(&str, String)],
    ) -> io::Result<Tether> {
        let mut command = self.identity.command("/bin/sh");
        command
            .args(["-c", BEGIN, "sh", WATCHER])
            .arg(self.folder)
            .arg(program)
            .args(arguments)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder)
            // Ctrl-C in a terminal must reach the owner alone, which then ends the server in its
            // own time.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(self.log);
        let mut child = command.spawn()?;
        let leash = child.stdin.take();
        let word = child.stdout.take().map_or_else(Stdio::null, Stdio::from);
        // Where this fails the leash is let go of, and so the program ends.
        let sweeper = Command::new("/bin/sh")
            .args(["-c", SWEEPER, "member-mail-sweeper"])
            .args(self.trash)
            .current_dir("/")
            .process_group(0)
            .stdin(word)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Tether {
            child,
            leash,
            sweeper,
        })
    }
}

impl Tether {
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How the program ended, if it has; the watcher is then let go.
    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        if status.is_some()
            && let Some(mut leash) = self.leash.take()
        {
            // Fails when the watcher was killed, which is as good.
            let _ = leash.write_all(b"\n");
        }
        Ok(status)
    }

    /// Waits for the program to end.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Signals the program, whose process id stays its own until [`ended`](Self::ended) has seen it
    /// end.
    pub(super) fn signal(&self, name: &str) {
        if self.leash.is_some() {
            signal(self.pid(), name);
        }
    }

    /// Waits, after the program has ended, until its children, watcher and sweeper are gone too, at
    /// most `limit`.
    pub(super) async fn helpers_gone(&mut self, limit: Duration) {
        let begin = Instant::now();
        while matches!(self.sweeper.try_wait(), Ok(None)) && begin.elapsed() < limit {
            tokio::time::sleep(POLL).await;
        }
    }
}

impl Drop for Tether {
    fn drop(&mut self) {
        // By hand as well, since the watcher may have been killed.
        self.signal("INT");
    }
}

/// Signals a process by the shell's own `kill`: std has SIGKILL alone, and `/bin/kill` is missing
/// from small images.
pub(super) fn signal(pid: u32, name: &str) {
    let sent = Command::new("/bin/sh")
        .args(["-c", r#"kill -s "$1" "$2""#, "sh", name, &pid.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if let Err(error) = sent {
        tracing::error!("process {pid} could not be sent SIG{name}: {error}");
    }
}
