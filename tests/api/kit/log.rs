//! The log, as a test reads it.

use std::{
    io,
    sync::{Arc, LazyLock, Mutex},
};

use tracing::{Dispatch, Level, Subscriber, subscriber::DefaultGuard};
use tracing_subscriber::fmt::MakeWriter;

/// While there is one subscriber, the thread that comes by an event first decides for all threads whether
/// it is wanted: another test's, say, on which nobody reads the log. With two, both are asked.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(subscriber(&Lines::default())));

fn subscriber(lines: &Lines) -> impl Subscriber + Send + Sync + use<> {
    tracing_subscriber::fmt()
        .with_max_level(Level::INFO)
        .with_ansi(false)
        .with_writer(lines.clone())
        .finish()
}

/// What is logged on this thread at `info` and above; the runtime of a test has no other.
pub(crate) struct Log {
    lines: Lines,
    _guard: DefaultGuard,
}

impl Log {
    pub(crate) fn capture() -> Self {
        let lines = Lines::default();
        LazyLock::force(&SECOND);
        let guard = tracing::subscriber::set_default(subscriber(&lines));
        Self {
            lines,
            _guard: guard,
        }
    }

    pub(crate) fn text(&self) -> String {
        let lines = self.lines.0.lock().expect("lines");
        String::from_utf8(lines.clone()).expect("UTF-8")
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("lines").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
