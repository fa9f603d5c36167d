//! Clients that want the server to hold much, or to have no time and no place for others.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::common::Host as _;
use super::common::client::{READ, WRITE};
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
