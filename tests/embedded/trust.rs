//! Folders that another local user had a hand in. Only root can make them, so these run as root
//! alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use member_mail::postgres::embedded::{Error, Lifetime, Server};

use super::fixture::{Place, add_row, entries, installed, is_root, mode, options};
use super::processes::{postmasters, processes};
use super::users::nobody;

fn owner(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").uid()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
}

/// Runs a script as nobody, the attacker.
fn as_nobody(script: &str, argument: &Path) {
    let id = nobody().to_string();
    let status = Command::new("setpriv")
        .args(["--reuid", &id, "--regid", &id, "--clear-groups"])
        .args(["/bin/sh", "-ec", script, "sh"])
        .arg(argument)
        .current_dir("/")
        .status()
        .expect("setpriv runs");
    assert!(status.success());
}

fn chown_all(path: &Path, owner: &str) {
    let status = Command::new("chown").args(["-R", owner]).arg(path).status();
    assert!(status.expect("chown runs").success());
}

async fn installed_here() -> PathBuf {
    let place = Place::new();
    let server = place.start().await;
    let folder = installed(&server).await;
    server.stop().await;
    folder
}

/// A folder with a lock and a whole cluster, all of nobody.
async fn lay_trap(folder: &Path) {
    let bin = installed_here().await;
    let script = format!(
        "mkdir -m 700 \"$1\"; : > \"$1/lock\"
         {}/initdb --username=postgres --auth=trust --no-sync \"$1/data-15\" >/dev/null",
        bin.display()
    );
    as_nobody(&script, folder);
}

/// The one line of a refusal that names the way out.
async fn refusal(data_dir: &Path) -> String {
    let refused = Server::start(options(data_dir, Lifetime::Persistent)).await;
    let message = refused.expect_err("a refusal").to_string();
    assert!(message.contains("DATA_DIR"), "{message}");
    assert!(!message.contains('\n'), "{message}");
    message
}

/// Starts once below a folder that the server's user cannot enter, and tells where the data is.
async fn fall_back(place: &Place) -> PathBuf {
    set_mode(&place.root, 0o700);
    let server = place.start().await;
    let fallback = server.data_dir().to_owned();
    assert!(fallback.starts_with("/var/tmp"), "{}", fallback.display());
    add_row(&server.connect_options()).await;
    server.stop().await;
    fallback
}

#[tokio::test]
async fn root_is_given_a_folder_that_the_servers_user_can_enter() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let elsewhere = fall_back(&place).await;
    assert_eq!(mode(&elsewhere), 0o711);
    let again = place.start().await;
    assert_eq!(again.data_dir(), elsewhere);
    again.stop().await;
    fs::remove_dir_all(&elsewhere).expect("removed");

    // Somebody else makes the folder first.
    for squat in [(1234, 0o700), (0, 0o777)] {
        fs::create_dir(&elsewhere).expect("a folder");
        chown(&elsewhere, Some(squat.0), None).expect("another owner");
        set_mode(&elsewhere, squat.1);
        let refused = Server::start(place.options(Lifetime::Persistent)).await;
        fs::remove_dir_all(&elsewhere).expect("removed");
        assert!(
            matches!(refused, Err(Error::NotPrivate { .. })),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_cluster_that_nobody_laid_out_in_the_fallback_is_not_run() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let fallback = fall_back(&place).await;
    fs::remove_dir_all(&fallback).expect("removed");
    lay_trap(&fallback).await;
    let refused = Server::start(place.options(Lifetime::Persistent)).await;
    // Where the server's user can enter DATA_DIR the trap does not hinder either.
    set_mode(&place.root, 0o755);
    let server = Server::start(place.options(Lifetime::Persistent)).await;
    let untouched = (owner(&fallback), owner(&fallback.join("lock")));
    fs::remove_dir_all(&fallback).expect("removed");
    let message = refused.expect_err("a refusal").to_string();
    assert!(message.contains("DATA_DIR"), "{message}");
    assert_eq!(untouched, (nobody(), nobody()));
    let server = server.expect("a server");
    assert_eq!(server.data_dir(), place.data());
    assert_ne!(owner(&place.cluster()), nobody());
    server.stop().await;
}

#[tokio::test]
async fn a_cluster_that_nobody_laid_out_in_a_shared_folder_is_not_run() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    set_mode(&place.root, 0o1777);
    lay_trap(&place.data()).await;
    let message = refusal(&place.data()).await;
    assert!(message.contains(&format!("uid {} ", nobody())), "{message}");
    assert_eq!(owner(&place.data()), nobody());

    // Nor one folder further down, nor with a lock of nobody in a folder of root.
    as_nobody("mkdir \"$1\"", &place.root.join("below"));
    refusal(&place.root.join("below/data")).await;
    assert_eq!(entries(&place.root.join("below")), [""; 0]);
    chown(place.data(), Some(0), Some(0)).expect("another owner");
    refusal(&place.data()).await;
    assert_eq!(owner(&place.data().join("lock")), nobody());
    chown(place.data().join("lock"), Some(0), Some(0)).expect("another owner");
    set_mode(&place.data(), 0o777);
    refusal(&place.data()).await;
    assert_eq!(postmasters(&place.root), [0_u32; 0]);
}

#[tokio::test]
async fn all_but_the_cluster_and_the_socket_is_roots() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let server = place.start().await;
    let cluster = place.cluster();
    let socket = server.socket_dir().to_owned();
    assert_ne!(owner(&cluster), 0);
    assert_eq!(owner(&socket), owner(&cluster));
    let data = place.data();
    for name in ["", "lock", "postgres.log"] {
        assert_eq!(owner(&data.join(name)), 0, "{name}");
    }
    for name in ["lock", "postgres.log"] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
    server.stop().await;
}

#[tokio::test]
async fn root_writes_its_log_to_a_new_file_and_never_through_a_link() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    place.start().await.stop().await;
    let victim = place.root.join("victim");
    fs::write(&victim, "as it was").expect("a file");
    let log = place.data().join("postgres.log");
    fs::remove_file(&log).expect("removed");
    symlink(&victim, &log).expect("a link");
    // A folder there makes the renaming of the log fail.
    let earlier = place.data().join("postgres.log.1");
    let _ = fs::remove_file(&earlier);
    fs::create_dir_all(earlier.join("below")).expect("a folder");
    refusal(&place.data()).await;
    fs::remove_dir_all(&earlier).expect("removed");
    place.start().await.stop().await;
    assert_eq!(fs::read_to_string(&victim).expect("text"), "as it was");
    assert!(fs::symlink_metadata(&log).expect("a log").is_file());
}

#[tokio::test]
async fn data_stays_in_the_fallback_when_the_way_opens() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let fallback = fall_back(&place).await;
    set_mode(&place.root, 0o711);
    let server = place.start().await;
    let data_dir = server.data_dir().to_owned();
    let rows = add_row(&server.connect_options()).await;
    server.stop().await;
    let moved = Command::new("cp")
        .arg("-a")
        .args([&fallback, &place.data()])
        .status();
    fs::remove_dir_all(&fallback).expect("removed");
    assert_eq!((data_dir, rows), (fallback, 2));

    // Moved as the log says, it is taken from there.
    assert!(moved.expect("cp runs").success());
    let server = place.start().await;
    assert_eq!(server.data_dir(), place.data());
    assert_eq!(add_row(&server.connect_options()).await, 3);
    server.stop().await;
}

#[tokio::test]
async fn data_that_the_servers_user_can_no_longer_reach_is_not_passed_over() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    place.start().await.stop().await;
    set_mode(&place.root, 0o700);
    let message = refusal(&place.data()).await;
    assert!(message.contains("chmod"), "{message}");
}

#[tokio::test]
async fn a_link_of_another_user_leads_root_nowhere() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let victim = place.root.join("victim");
    fs::create_dir(&victim).expect("a folder");
    set_mode(&victim, 0o755);
    let shared = place.root.join("shared");
    fs::create_dir(&shared).expect("a folder");
    set_mode(&shared, 0o1777);
    as_nobody("ln -s ../victim \"$1\"", &shared.join("link"));
    for path in ["link", "link/below", "../shared/link"] {
        refusal(&shared.join(path)).await;
        assert_eq!(owner(&victim), 0);
        assert_eq!(mode(&victim), 0o755);
        assert_eq!(entries(&victim), [""; 0]);
    }

    // Root's own link is root's own business.
    symlink("victim", place.root.join("link")).expect("a link");
    let server = Server::start(options(&place.root.join("link"), Lifetime::Persistent)).await;
    let server = server.expect("a server");
    assert_eq!(server.data_dir(), victim);
    server.stop().await;
}

#[tokio::test]
async fn a_cluster_of_nobody_goes_on_and_one_of_a_stranger_does_not() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    place.start().await.stop().await;
    chown_all(&place.cluster(), "1234:1234");
    let message = refusal(&place.data()).await;
    assert!(message.contains("uid 1234"), "{message}");
    chown_all(&place.cluster(), &format!("{0}:{0}", nobody()));
    let server = place.start().await;
    assert_eq!(add_row(&server.connect_options()).await, 1);
    assert_eq!(owner(server.socket_dir()), nobody());
    server.stop().await;
}

#[tokio::test]
async fn a_socket_folder_in_tmp_that_another_user_made_is_refused() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let data_dir = place.root.join("long".repeat(30));
    let server = Server::start(options(&data_dir, Lifetime::Persistent)).await;
    let server = server.expect("a server");
    let socket = server.socket_dir().to_owned();
    server.stop().await;
    fs::remove_dir_all(&socket).expect("removed");
    fs::create_dir(&socket).expect("a folder");
    chown(&socket, Some(1234), None).expect("another owner");
    let refused = Server::start(options(&data_dir, Lifetime::Persistent)).await;
    fs::remove_dir_all(&socket).expect("removed");
    let message = refused.expect_err("a refusal").to_string();
    assert!(message.contains("uid 1234"), "{message}");
    assert_eq!(processes(&place.root), [0_u32; 0]);
}

#[tokio::test]
async fn a_link_in_place_of_the_pid_file_is_not_followed() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    place.start().await.stop().await;
    let pid_file = place.cluster().join("postmaster.pid");
    let status = Command::new("mkfifo").arg(place.root.join("pipe")).status();
    assert!(status.expect("mkfifo runs").success());
    symlink(place.root.join("pipe"), &pid_file).expect("a link");
    refusal(&place.data()).await;
}
