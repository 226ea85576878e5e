//! Streams of 1,000,000 members: the memory that they take, and how soon they begin.
//!
//! `make scale` runs it, and prints what it measured. The memory is that of the program alone, in a
//! process of its own.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use crate::kit::{
    Database, Folder, Process, get,
    scale::{fill, members},
    url,
    wait::DEADLINE,
};

const FORMATS: [&str; 3] = ["ndjson", "csv", "sse"];
const ROUNDS: usize = 101;
/// Bytes that a slow reader takes in a second.
const RATE: usize = 1_000_000;
/// How much more memory streams may take, in KiB.
const GROWTH: u64 = 32 * 1024;

/// A service with so many members.
struct Service {
    _database: Database,
    _folder: Folder,
    process: Process,
    address: SocketAddr,
}

impl Service {
    async fn start(count: u32) -> Self {
        let database = Database::create().await;
        fill(&mut database.connect().await, &members(count)).await;
        let folder = Folder::new();
        let (process, address) = Process::serve(&folder, &[("DATABASE_URL", &url(&database))]);
        Self {
            _database: database,
            _folder: folder,
            process,
            address,
        }
    }

    /// Asks for the whole list.
    fn stream(&self, format: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("connection");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        let address = self.address;
        let request = format!(
            "GET /api/v1/members?format={format} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("sent");
        stream
    }

    /// How long the first row takes, on a connection to Postgres that has been used: a stream that is
    /// left, as this one then is, closes its own.
    fn first_row(&self, format: &str) -> Duration {
        let one = format!("/api/v1/members?format={format}&limit=1");
        assert_eq!(get(self.address, &one).0, 200);
        let begin = Instant::now();
        let mut stream = self.stream(format);
        let mut text = Vec::new();
        let mut buffer = [0; 8 * 1024];
        while !String::from_utf8_lossy(&text).contains("@example.org") {
            let length = stream.read(&mut buffer).expect("more");
            assert!(length > 0, "no row");
            text.extend_from_slice(&buffer[..length]);
        }
        begin.elapsed()
    }

    /// By how many KiB the service's memory was larger at most, while `work` ran, than before.
    fn growth(&self, work: impl FnOnce()) -> u64 {
        let process = self.process.id();
        // Lets the kernel take the peak anew; see proc(5).
        fs::write(format!("/proc/{process}/clear_refs"), "5").expect("a new peak");
        let before = peak(process);
        work();
        peak(process) - before
    }
}

/// The most memory that a process had, in KiB.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("its status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.expect("a peak").parse().expect("a number")
}

/// Takes a list at [`RATE`] for a minute.
fn read_slowly(mut stream: TcpStream) {
    let mut part = vec![0; RATE / 20];
    let mut due = Instant::now();
    for _ in 0..60 * 20 {
        stream.read_exact(&mut part).expect("more");
        due += Duration::from_millis(50);
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    assert!(due.elapsed() < Duration::from_secs(6), "it came slower");
}

/// Takes a whole list as fast as it comes; says how many bytes it has.
fn read_fast(mut stream: TcpStream) -> usize {
    let mut buffer = vec![0; 1024 * 1024];
    let (mut bytes, mut end) = (0, Vec::new());
    loop {
        let length = stream.read(&mut buffer).expect("more");
        if length == 0 {
            break;
        }
        bytes += length;
        end.extend_from_slice(&buffer[length.saturating_sub(5)..length]);
        end.drain(..end.len().saturating_sub(5));
    }
    assert_eq!(end, b"0\r\n\r\n", "a list that is cut off");
    bytes
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes five minutes: make scale"]
async fn a_stream_of_a_million_rows_costs_no_more_than_one_of_a_thousand() {
    let (large, small) = (Service::start(1_000_000).await, Service::start(1000).await);
    let mut faults = Vec::new();

    for format in FORMATS {
        let (mut of_large, mut of_small) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            of_large.push(large.first_row(format));
            of_small.push(small.first_row(format));
        }
        let (of_large, of_small) = (median(of_large), median(of_small));
        let line = format!(
            "{format}: the first row of 1,000,000 takes {of_large:?}, of 1,000 {of_small:?}"
        );
        println!("{line}");
        if of_large >= of_small * 2 {
            faults.push(line);
        }
    }

    let mut note = |what: &str, growth: u64| {
        let line = format!("{what}: {growth} KiB more");
        println!("{line}");
        if growth >= GROWTH {
            faults.push(line);
        }
    };
    for format in FORMATS {
        let mut bytes = 0;
        let begin = Instant::now();
        let growth = large.growth(|| bytes = read_fast(large.stream(format)));
        let took = begin.elapsed();
        note(&format!("{format}, {bytes} bytes in {took:?}"), growth);
    }
    let growth = large.growth(|| {
        thread::scope(|scope| {
            for format in FORMATS {
                let stream = large.stream(format);
                scope.spawn(|| read_slowly(stream));
            }
        });
    });
    note("all three at once, a minute at 1 MB/s each", growth);
    assert!(faults.is_empty(), "{faults:#?}");
}
