//! The processes of a folder.

use std::{
    fs,
    path::Path,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) id: u32,
    parent: u32,
    pub(crate) command: String,
}

/// All live processes that work in a folder or name it in their arguments: servers, their backends and
/// watchers.
pub(crate) fn running(folder: &Path) -> Vec<Running> {
    let listed = Command::new("ps")
        .args(["-axww", "-o", "pid=,ppid=,state=,args="])
        .output()
        .expect("ps");
    let name = folder.to_str().expect("UTF-8");
    String::from_utf8_lossy(&listed.stdout)
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let mut number = || words.next().and_then(|word| word.parse().ok());
            let (id, parent) = (number().expect("an id"), number().expect("an id"));
            let ended = words.next().expect("a state").starts_with('Z');
            let command = words.collect::<Vec<_>>().join(" ");
            let works_in = fs::read_link(format!("/proc/{id}/cwd")).unwrap_or_default();
            let ours = works_in.starts_with(folder) || command.contains(name);
            (ours && !ended && id != std::process::id()).then_some(Running {
                id,
                parent,
                command,
            })
        })
        .collect()
}

/// The ids of all live processes of a folder.
pub(crate) fn processes(folder: &Path) -> Vec<u32> {
    ids(running(folder))
}

/// The ids of the servers on a cluster in a folder.
pub(crate) fn postmasters(folder: &Path) -> Vec<u32> {
    let mut servers = running(folder);
    servers.retain(|process| {
        let mut words = process.command.split(' ');
        words.next().is_some_and(|name| name.ends_with("/postgres")) && words.next() == Some("-D")
    });
    // A server's child has its command line until it gives itself a name.
    let all: Vec<_> = servers.iter().map(|process| process.id).collect();
    servers.retain(|process| !all.contains(&process.parent));
    ids(servers)
}

fn ids(processes: Vec<Running>) -> Vec<u32> {
    processes.into_iter().map(|process| process.id).collect()
}

pub(crate) fn signal(id: u32, name: &str) {
    Command::new("/bin/sh")
        .args(["-c", r#"kill -s "$1" "$2" 2>/dev/null"#, "sh", name])
        .arg(id.to_string())
        .status()
        .expect("kill");
}

/// Removes a folder, after the processes that still work in it were ended.
pub(crate) fn clear(folder: &Path) {
    // A killed server leaves its shared memory behind: that is for what does not end otherwise.
    for name in ["INT", "KILL"] {
        for id in processes(folder) {
            signal(id, name);
        }
        holds_soon(|| processes(folder).is_empty());
    }
    // A process that is just ending may still write.
    if !holds_soon(|| fs::remove_dir_all(folder).is_ok()) {
        eprintln!("{} is left behind", folder.display());
    }
}

/// For the end of a test, which must not panic: it may be panicking already.
fn holds_soon(mut condition: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !condition() {
        if begin.elapsed() > Duration::from_secs(5) {
            return false;
        }
        sleep(Duration::from_millis(20));
    }
    true
}
