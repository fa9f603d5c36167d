//! Clients that want the server to hold much, or to have no time and no place for others.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use eraseblock_core::config::DeviceConfig;
use eraseblock_serve::Drive;
#[cfg(target_os = "linux")]
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use serde_json::json;

use super::common::client::{Client, READ, STATUS, WRITE};
use super::common::{Host as _, config};
use super::{Server, image};

/// More than there may be clients.
const CROWD: usize = 200;

impl Server {
    /// The most memory that it has had, in KiB, where the system says so.
    pub fn peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
        peak.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Seconds of a processor that it has taken.
    #[cfg(target_os = "linux")]
    fn processor(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        let fields = stat.rsplit(')').next().unwrap().split_whitespace();
        fields.skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
    }

    /// A client that has been told that it may begin TLS, or has not come so far.
    fn crowd(&self, said: &[u8]) -> Option<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        stream.read_exact(&mut [0; 18]).ok()?;
        stream.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0").ok()?;
        stream.read_exact(&mut [0; 20]).ok()?;
        stream.write_all(said).ok()?;
        Some(stream)
    }
}

/// Many that stop in the middle of a handshake, however they stop, take no place from those who go
/// on, nor much memory.
#[test]
fn a_crowd_that_never_ends_its_handshake_keeps_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start_with(&image(folder.path(), "page"), "tls");
    let mut first = server.encrypted_client(None).unwrap();
    first.write(0, &[1; 4096], false).unwrap();
    let before = server.peak();
    // The beginning of a hello, as long as a record may be; of it there is a part, or all but the
    // last byte.
    let hello = |there: usize| {
        let mut said = [&[22, 3, 1, 0x40, 0][..], &[1, 0, 0x3f, 0xfc, 3, 3]].concat();
        said.resize(there, 0);
        said
    };
    let crowd: Vec<_> =
        (0..CROWD).map(|n| server.crowd(&hello([0, 5, 11, 9000, 5 + 0x3fff][n % 5]))).collect();
    let start = Instant::now();
    let mut second = server.encrypted_client(None).unwrap();
    second.write(4096, &[2; 4096], false).unwrap();
    let mut found = [0; 8192];
    first.read(0, &mut found).unwrap();
    assert_eq!((found[4095], found[4096]), (1, 2));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let taken = server.peak() - before;
    assert!(taken < 100 << 10, "{taken} KiB more for {} in handshake", crowd.len());
    drop(crowd);
    assert!(server.end().success());
}

/// Who has just come is not pushed out by others, however many come: those who find no place wait.
#[test]
fn a_crowd_pushes_nobody_out_who_is_quick() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(&image(folder.path(), "page"));
    drop(server.client());
    // On a machine that does other things it may take too long for once.
    let stays = (0..5).any(|_| {
        let honest = UnixStream::connect(&server.socket).unwrap();
        let honest = Client::greet(honest).unwrap();
        let crowd: Vec<_> =
            (0..CROWD).filter_map(|_| UnixStream::connect(&server.socket).ok()).collect();
        // The last one for whom there is a place, and time for those behind it.
        (&crowd[62]).read_exact(&mut [0; 18]).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        honest.choose().and_then(|mut client| client.flush()).is_ok()
    });
    assert!(stays);
    server.client().flush().unwrap();
    assert!(server.end().success());
}

/// The system has no file handle left for one more client: those that are there go on, the
/// server does not spin, and who waits gets in when there is one, with nobody else coming or going.
#[cfg(target_os = "linux")]
#[test]
fn clients_for_whom_there_is_no_file_handle_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "page");
    let mut server = Server::start_with(&path, "control");
    let mut first = server.client();
    let pid = rustix::process::Pid::from_child(&server.process);
    let limit = |most| prlimit(Some(pid), Resource::Nofile, most).unwrap();
    let none = Rlimit { current: Some(3), maximum: getrlimit(Resource::Nofile).maximum };
    let usual = limit(none);
    let mut last = UnixStream::connect(&server.socket).unwrap();
    last.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(last.read_exact(&mut [0; 18]).is_err(), "there was a handle for it");
    // The control socket may have one reserved, and has none after that.
    let mut order = UnixStream::connect(path.with_extension("ctl")).unwrap();
    order.write_all(b"{\"order\": \"stats\"}\n").unwrap();
    first.write(0, &[1; 4096], true).unwrap();
    let before = server.processor();
    std::thread::sleep(Duration::from_secs(1));
    let used = server.processor() - before;
    assert!(used < 0.1, "{used} s of processor in a second in which nothing comes");
    limit(usual);
    last.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert!(last.read_exact(&mut [0; 18]).is_ok(), "it waits for ever");
    order.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut said = String::new();
    order.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("{\"done\""), "{said}");
    first.flush().unwrap();
    assert!(server.end().success());
}

/// To look which bytes of a large drive are allocated is work; others do not wait for as much of it
/// as one client has asked for.
#[test]
fn questions_for_what_is_allocated_leave_others_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    let mut large =
        serde_json::to_value(config(&json!("page"), json!({"scheme": "lru", "size": "64 KiB"})))
            .unwrap();
    (large["nand"]["pages_per_block"], large["nand"]["blocks_per_plane"]) =
        (512.into(), 160.into());
    large["ftl"]["exported"] = "512 MiB".into();
    Drive::create(&path, &DeviceConfig::from_json(large).unwrap()).unwrap();
    let mut server = Server::start(&path);
    let (mut curious, mut other) = (server.client(), server.client());
    let answered = AtomicU64::new(0);
    let ends = AtomicBool::new(false);
    let mut between: Vec<u64> = std::thread::scope(|scope| {
        scope.spawn(|| {
            // So many are always on their way that none is waited for.
            for n in 0_u64.. {
                curious.ask((STATUS, 0), 0, 512 << 20, &[]).unwrap();
                if n >= 200 {
                    curious.answer().unwrap();
                    answered.fetch_add(1, Relaxed);
                }
                if ends.load(Relaxed) {
                    break;
                }
            }
        });
        while answered.load(Relaxed) < 100 {
            std::thread::yield_now();
        }
        let between = (0..41).map(|_| {
            let before = answered.load(Relaxed);
            other.read(0, &mut [0; 512]).unwrap();
            answered.load(Relaxed) - before
        });
        let between = between.collect();
        ends.store(true, Relaxed);
        between
    });
    between.sort_unstable();
    assert!(between[20] < 32, "{between:?} answers of another client's before one");
    drop(curious);
    assert!(server.end().success());
}

/// Places are for those who use the drive: they keep theirs, whoever comes.
#[test]
fn clients_that_use_the_drive_keep_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(&image(folder.path(), "page"));
    let mut clients: Vec<_> = (0..64).map(|_| server.client()).collect();
    let mut refused = UnixStream::connect(&server.socket).unwrap();
    assert_eq!(refused.read(&mut [0; 18]).unwrap_or(0), 0, "there is no place left");
    for client in &mut clients {
        client.flush().unwrap();
    }
    drop(clients.pop());
    server.client().flush().unwrap();
    assert!(server.end().success());
}

/// What is encrypted for a client that takes nothing is bounded like what is not.
#[test]
fn an_encrypted_client_that_takes_no_answers_makes_the_server_hold_little() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start_with(&image(folder.path(), "page"), "tls");
    let mut client = server.encrypted_client(None).unwrap();
    client.write(0, &vec![7; 1 << 20], false).unwrap();
    let before = server.peak();
    let mut greedy: Vec<_> = (0..8).map(|_| server.encrypted_client(None).unwrap()).collect();
    for one in &mut greedy {
        for _ in 0..200 {
            one.ask((READ, 0), 0, 1 << 20, &[]).unwrap();
        }
    }
    for _ in 0..20 {
        client.write(512, &[8; 512], false).unwrap();
    }
    // 8 MiB and a request for each, and what is kept of it.
    let taken = server.peak() - before;
    assert!(taken < 200 << 10, "{taken} KiB more");
    // Nothing was lost of what it asked for.
    for _ in 0..200 {
        let (_, errno, data) = greedy[0].answer().unwrap();
        assert_eq!((errno, data.len()), (0, 1 << 20));
    }
    greedy[0].ask((WRITE, 0), 0, 512, &[9; 512]).unwrap();
    assert_eq!(greedy[0].answer().unwrap().1, 0);
    drop(greedy);
    client.flush().unwrap();
    assert!(server.end().success());
}
