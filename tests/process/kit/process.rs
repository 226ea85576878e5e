//! The running program.

use std::{
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    thread::JoinHandle,
};

use member_mail::config::SETTINGS;

use super::{Folder, processes::signal, until, wait::DEADLINE};

/// Killed with this value.
pub(crate) struct Process {
    child: Child,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
}

/// What a program that has ended leaves.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// Expects that the program refused to go on, in one line.
    #[track_caller]
    pub(crate) fn refusal(&self) -> &str {
        assert!(!self.status.success(), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        let line = self.stderr.trim_end();
        assert_eq!(line.lines().count(), 1, "{self:?}");
        line.strip_prefix("member-mail: ")
            .expect("the program's name")
    }

    /// Expects success, and answers standard output.
    #[track_caller]
    pub(crate) fn success(&self) -> &str {
        assert!(self.status.success(), "{self:?}");
        &self.stdout
    }
}

impl Process {
    /// Starts the program in `folder`: with these settings, a free port and no others.
    pub(crate) fn start(folder: &Folder, arguments: &[&str], settings: &[(&str, &str)]) -> Self {
        Self::start_with_log(folder, arguments, settings, Stdio::piped())
    }

    /// As [`start`](Self::start), with the log elsewhere.
    pub(crate) fn start_with_log(
        folder: &Folder,
        arguments: &[&str],
        settings: &[(&str, &str)],
        log: Stdio,
    ) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_member-mail"));
        for setting in SETTINGS {
            // Where server programs are is the machine's matter.
            if !setting.name.starts_with("PG_") {
                command.env_remove(setting.name);
            }
        }
        let mut child = command
            .env("BIND_ADDRESS", "127.0.0.1:0")
            .env("LOG", "warn")
            .envs(settings.iter().copied())
            .args(arguments)
            .current_dir(&folder.path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the program");
        let lines = lines(child.stdout.take().expect("standard output"));
        let stderr = child.stderr.take();
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(mut stderr) = stderr {
                stderr.read_to_end(&mut text).expect("standard error");
            }
            String::from_utf8(text).expect("UTF-8")
        });
        Self {
            child,
            lines,
            errors: Some(errors),
        }
    }

    /// Starts the service, and waits until it is ready.
    #[track_caller]
    pub(crate) fn serve(folder: &Folder, settings: &[(&str, &str)]) -> (Self, SocketAddr) {
        let mut process = Self::start(folder, &[], settings);
        let [_, api, ..] = process.greeting();
        let address = address(&api);
        assert_eq!(super::get(address, "/readyz").0, 200);
        (process, address)
    }

    /// Runs the program to its end.
    #[track_caller]
    pub(crate) fn run(folder: &Folder, arguments: &[&str], settings: &[(&str, &str)]) -> Output {
        Self::start(folder, arguments, settings).output()
    }

    /// The four lines by which the service says that it serves.
    #[track_caller]
    pub(crate) fn greeting(&mut self) -> [String; 4] {
        [(); 4].map(|()| self.line())
    }

    /// The next line on stdout.
    pub(crate) fn line(&mut self) -> String {
        let line = self.lines.recv_timeout(DEADLINE);
        line.unwrap_or_else(|_| panic!("no further line: {:?}", self.end()))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.id(), name);
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("its state").is_none()
    }

    /// Waits for the program's end.
    #[track_caller]
    pub(crate) fn output(mut self) -> Output {
        until("the program ends", || !self.is_running());
        self.end()
    }

    fn end(&mut self) -> Output {
        self.child.kill().ok();
        let status = self.child.wait().expect("its end");
        let stdout: String = self.lines.iter().map(|line| line + "\n").collect();
        let errors = self.errors.take().expect("the first end");
        Output {
            status,
            stdout,
            stderr: errors.join().expect("standard error"),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The address in a line of the greeting.
#[track_caller]
pub(crate) fn address(line: &str) -> SocketAddr {
    let (_, behind) = line.split_once("http://").expect("a URL");
    let address = behind.split('/').next().expect("an address");
    address.parse().expect("an address")
}

fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
