//! The server as a process: what clients get, what `kill -9` leaves, how it ends.

#![cfg(unix)]

mod common;
#[path = "server/failing.rs"]
mod failing;
#[path = "server/hostile.rs"]
mod hostile;
#[path = "server/pace.rs"]
mod pace;
#[path = "server/tls.rs"]
mod tls;

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use common::client::{CACHE, Client, FLUSH, READ, STATUS, TRIM, WRITE, ZEROES};
use common::{Host as _, Model, config};
use eraseblock_core::config::DeviceConfig;
use eraseblock_serve::{Address, Drive, Http, Options, Ready, Tls, serve};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use rustix::fs::{FlockOperation, flock};
use serde_json::json;

/// Not a test: the server of the other tests, which run this program again for it.
#[test]
fn serves_what_the_environment_names() {
    let Some(image) = std::env::var_os("ERASEBLOCK_TEST_IMAGE") else { return };
    let image = PathBuf::from(image);
    let address = Address::Unix(image.with_extension("sock"));
    let asked = std::env::var("ERASEBLOCK_TEST_OPTIONS").unwrap();
    let options = Options {
        tls: asked.contains("tls").then(|| Tls {
            folder: tls::certificates(),
            verify_peer: asked.contains("tls-verify"),
        }),
        pace: asked.contains("pace"),
        real_time: !asked.contains("normal"),
        control: asked.contains("control").then(|| image.with_extension("ctl")),
        record: asked.contains("record").then(|| image.with_extension("ebt")),
        http: asked.contains("http").then(|| Http { port: 0, page: "<p>a page".into() }),
        ..Options::at(address)
    };
    let told = |at: &Ready| std::fs::write(image.with_extension("told"), at.to_json()).is_ok();
    let ended = serve(&image, &options, || true, told).unwrap().unwrap();
    std::fs::write(image.with_extension("json"), ended.to_json()).unwrap();
}

/// A server in a process of its own.
struct Server {
    process: Child,
    socket: PathBuf,
}

impl Server {
    fn start(image: &Path) -> Self {
        Self::start_with(image, "")
    }

    /// With some of the options that [`serves_what_the_environment_names`] knows.
    fn start_with(image: &Path, options: &str) -> Self {
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "serves_what_the_environment_names"])
            .env("ERASEBLOCK_TEST_IMAGE", image)
            .env("ERASEBLOCK_TEST_OPTIONS", options)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { process, socket: image.with_extension("sock") }
    }

    /// A client, as soon as there can be one.
    fn client(&mut self) -> Client {
        let start = Instant::now();
        loop {
            match Client::connect(&self.socket) {
                Ok(client) => return client,
                Err(why) => assert!(start.elapsed() < Duration::from_secs(60), "{why}"),
            }
            assert_eq!(self.process.try_wait().unwrap(), None, "the server has ended");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Asks it to end, as `kill` does.
    fn end(mut self) -> ExitStatus {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.process.wait().unwrap()
    }
}

/// None outlives its test.
impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

fn image(folder: &Path, mapping: &str) -> PathBuf {
    let path = folder.join(mapping);
    let mapping = common::ftls().into_iter().find(|(name, _)| name == mapping).unwrap().1;
    Drive::create(&path, &config(&mapping, json!({"scheme": "lru", "size": "64 KiB"}))).unwrap();
    path
}

#[test]
fn what_was_flushed_survives_kill_9_at_random_moments() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    for mapping in ["page", "dftl", "fast"] {
        let image = image(folder.path(), mapping);
        let mut server = Server::start(&image);
        let mut client = server.client();
        let mut model = Model::new(&mut client);
        for _ in 0..6 {
            let moment = Duration::from_micros(rng.random_range(500..60_000));
            let pid = server.process.id().to_string();
            let killer = std::thread::spawn(move || {
                std::thread::sleep(moment);
                Command::new("kill").args(["-KILL", &pid]).status().unwrap()
            });
            while model.step(&mut client, &mut rng).is_ok() {}
            assert!(killer.join().unwrap().success());
            assert_eq!(server.process.wait().unwrap().signal(), Some(9));
            server = Server::start(&image);
            client = server.client();
            model.power_was_cut(&mut client);
        }
    }
}

#[test]
fn each_command_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(&image(folder.path(), "page"));
    let mut client = server.client();
    let done = Ok((0, vec![]));
    let data: Vec<u8> = (0..20_000u32).map(|i| (i / 3) as u8 | 1).collect();
    assert_eq!(client.call((WRITE, 0), 1000, 20_000, &data), done);
    assert_eq!(client.call((READ, 0), 1000, 20_000, &[]), Ok((0, data.clone())));
    // An unaligned range of zeroes: its edges are written, its middle is trimmed.
    assert_eq!(client.call((ZEROES, 0), 3000, 10_000, &[]), done);
    let mut now = data.clone();
    now[2000..12_000].fill(0);
    assert_eq!(client.call((READ, 0), 1000, 20_000, &[]), Ok((0, now.clone())));
    let status =
        |words: &[u32]| [&[1], words].concat().iter().flat_map(|w| w.to_be_bytes()).collect();
    // Pages 0 to 5 were written, and of these 1 and 2 are zeroes.
    let told: Vec<u8> = status(&[4096, 0, 8192, 3, 12_288, 0, 4096, 3]);
    assert_eq!(client.call((STATUS, 0), 0, 28_672, &[]), Ok((0, told)));
    let told: Vec<u8> = status(&[96, 0]);
    assert_eq!(client.call((STATUS, 8), 4000, 28_672, &[]), Ok((0, told)), "one is enough");
    assert_eq!(client.call((ZEROES, 0x12), 0, 4096, &[]), Ok((95, vec![])), "not fast");
    assert_eq!(client.call((ZEROES, 0x10), 0, 4096, &[]), done);
    assert_eq!(client.call((ZEROES, 0x10), 100, 4096, &[]), Ok((95, vec![])), "parts of pages");
    assert_eq!(client.call((ZEROES, 2), 4096, 4096, &[]), done);
    assert_eq!(client.call((READ, 0), 0, 8192, &[]), Ok((0, vec![0; 8192])));
    assert_eq!(client.call((CACHE, 0), 0, 65_536, &[]), done);
    assert_eq!(client.call((TRIM, 1), 8192, 12_288, &[]), done);
    assert_eq!(client.call((READ, 0), 8192, 12_288, &[]), Ok((0, vec![0; 12_288])));
    assert_eq!(client.call((FLUSH, 0), 0, 0, &[]), done);
    assert_eq!(client.call((WRITE, 1), 1 << 20, 512, &[0; 512]), Ok((28, vec![])), "the end");
    assert_eq!(client.call((ZEROES, 0), (1 << 20) - 4096, 8192, &[]), Ok((28, vec![])));
    assert_eq!(client.call((TRIM, 0), (1 << 20) - 4096, 8192, &[]), Ok((22, vec![])));
    assert_eq!(client.call((READ, 0), 0, 0, &[]), done);
    assert!(server.end().success());
}

#[test]
fn many_requests_of_many_clients_are_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(&image(folder.path(), "page"));
    let mut clients: Vec<Client> = (0..4).map(|_| server.client()).collect();
    for round in 0..20u64 {
        let mut asked = vec![];
        for (c, client) in clients.iter_mut().enumerate() {
            for i in 0..32u64 {
                let page = c as u64 * 64 + i;
                let data = [round as u8 + 1; 4096];
                asked.push(client.ask((WRITE, 0), page * 4096, 4096, &data).unwrap());
                asked.push(client.ask((READ, 0), page * 4096, 4096, &[]).unwrap());
            }
        }
        for client in &mut clients {
            for _ in 0..64 {
                let (cookie, errno, data) = client.answer().unwrap();
                assert_eq!(errno, 0);
                // A read comes after the write that was asked for before it.
                let read = cookie % 2 == 0;
                assert!(!read || data == vec![round as u8 + 1; 4096]);
            }
        }
    }
    // One that goes in the middle of a request costs the others nothing.
    let mut vanishing = server.client();
    vanishing.ask((WRITE, 0), 0, 1 << 20, &[1; 1000]).unwrap();
    vanishing.ask((READ, 0), 0, 4096, &[]).unwrap();
    drop(vanishing);
    // Nor does one that talks nonsense, or one that says nothing.
    std::io::Write::write_all(
        &mut std::os::unix::net::UnixStream::connect(&server.socket).unwrap(),
        &[b'x'; 5000],
    )
    .unwrap();
    let _silent = std::os::unix::net::UnixStream::connect(&server.socket).unwrap();
    clients[0].flush().unwrap();
    // More of them than there may be clients, one after the other: each makes room.
    for _ in 0..80 {
        let mut vanishing = server.client();
        vanishing.ask((WRITE, 0), 0, 4096, &[1; 10]).unwrap();
    }
    server.client().flush().unwrap();
    assert!(server.end().success());
}

#[test]
fn a_socket_that_is_taken_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let _other = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let options = Options::at(Address::Unix(socket));
    let none = || panic!("an image would be made");
    let refused = serve(&folder.path().join("none"), &options, none, |_| true);
    assert!(refused.unwrap_err().to_string().contains("in use"));
}

#[test]
fn clients_that_take_no_answers_make_the_server_hold_little() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page");
    let mut config =
        serde_json::to_value(config(&json!("page"), json!({"scheme": "none", "size": "0 B"})))
            .unwrap();
    (config["nand"]["blocks_per_plane"], config["ftl"]["exported"]) = (700.into(), "36 MiB".into());
    Drive::create(&path, &DeviceConfig::from_json(config).unwrap()).unwrap();
    let mut server = Server::start(&path);
    let mut client = server.client();
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(&server.socket).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    // Written, so that a read of it waits for flash.
    client.write(0, &vec![7; 32 << 20], false).unwrap();
    let most: u64 = 32 << 20;
    let mut greedy: Vec<Client> = (0..4).map(|_| server.client()).collect();
    for one in &mut greedy {
        for _ in 0..10 {
            one.ask((READ, 0), 0, most, &[]).unwrap();
        }
    }
    for _ in 0..10 {
        assert_eq!(client.call((READ, 0), 4096, 4, &[]), Ok((0, vec![7; 4])));
    }
    let status = format!("/proc/{}/status", server.process.id());
    if let Ok(status) = std::fs::read_to_string(status) {
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(peak < 500 << 10, "{peak} KiB");
    }
    for _ in 0..10 {
        assert_eq!(greedy[3].answer().unwrap().2.len() as u64, most);
    }
}

/// What the server of an image has left.
fn ended(image: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(image.with_extension("json")).unwrap()).unwrap()
}

#[test]
fn answers_come_when_the_drive_would_give_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("paced");
    let config = config(&json!("page"), json!({"scheme": "none", "size": "0 B"}));
    Drive::create(&path, &config).unwrap();
    let mut server = Server::start_with(&path, "pace");
    let mut client = server.client();
    let start = Instant::now();
    for page in 0..64 {
        client.write(page * 4096, &[page as u8; 4096], false).unwrap();
    }
    // Each takes 40 us on the bus and 200 us in the array, and one comes after the other.
    assert!(start.elapsed() >= 64 * Duration::from_micros(240), "{:?}", start.elapsed());
    let asked = Instant::now();
    for page in 0..64 {
        client.ask((READ, 0), page * 4096, 4096, &[]).unwrap();
    }
    for page in 0..64 {
        assert_eq!(client.answer().unwrap().2, vec![page; 4096]);
    }
    // More at once than the drive takes; two chips.
    assert!(asked.elapsed() >= 32 * Duration::from_micros(65), "{:?}", asked.elapsed());
    assert!(server.end().success());
    let ended = ended(&path);
    assert_eq!(ended["lateness_ns"]["count"], 128);
    assert_eq!(ended["drive"]["requests"]["completed"], 129, "and the last flush");
    // What a request waits for its turn is the host's.
    let response = &ended["drive"]["response_ns"]["write"];
    assert_eq!((&response["p50"], &response["max"]), (&json!(240_000), &json!(240_000)));
}

#[test]
fn what_many_clients_asked_for_is_recorded_as_the_drive_took_it() {
    for options in ["record", "pace record"] {
        let folder = tempfile::tempdir().unwrap();
        for mapping in ["page", "fast"] {
            let path = image(folder.path(), mapping);
            let config = Drive::info(&path).unwrap().config;
            let mut server = Server::start_with(&path, options);
            let clients: Vec<Client> = (0..3).map(|_| server.client()).collect();
            std::thread::scope(|scope| {
                for (seed, mut client) in (0..).zip(clients) {
                    scope.spawn(move || {
                        let mut rng = Pcg64Mcg::seed_from_u64(seed);
                        for _ in 0..30 {
                            let mut asked = 0;
                            for _ in 0..rng.random_range(1..8) {
                                let (at, length) = (rng.random_range(0..200) * 4096 + 512, 9000);
                                let data = vec![3; length as usize];
                                match rng.random_range(0..6) {
                                    0..3 => client.ask((WRITE, 0), at, length, &data),
                                    3 => client.ask((READ, 0), at, length, &[]),
                                    4 => client.ask((ZEROES, 1), at, length, &[]),
                                    _ => client.ask((FLUSH, 0), 0, 0, &[]),
                                }
                                .unwrap();
                                asked += 1;
                            }
                            (0..asked).for_each(|_| _ = client.answer().unwrap());
                        }
                    });
                }
            });
            assert!(server.end().success());
            let served = ended(&path);
            let simulated = common::simulated(&config, &path.with_extension("ebt"));
            // By way of text, as the other: means are rounded when they are read.
            let simulated = serde_json::to_string(&simulated).unwrap();
            let simulated: serde_json::Value = serde_json::from_str(&simulated).unwrap();
            for part in ["flash", "requests", "response_ns", "hit_ratio"] {
                assert_eq!(served["drive"][part], simulated[part], "{mapping}, {options}");
            }
        }
    }
}

/// What the control socket of an image's server says.
fn ordered(image: &Path, order: &str) -> serde_json::Value {
    use std::io::{Read as _, Write as _};
    let mut socket = std::os::unix::net::UnixStream::connect(image.with_extension("ctl")).unwrap();
    socket.write_all(format!("{order}\n").as_bytes()).unwrap();
    let mut said = String::new();
    socket.read_to_string(&mut said).unwrap();
    serde_json::from_str(&said).unwrap()
}

#[test]
fn power_is_cut_by_order_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    for (mapping, options) in [("page", "control"), ("fast", "control pace")] {
        let path = image(folder.path(), mapping);
        let mut server = Server::start_with(&path, options);
        let mut client = server.client();
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(path.with_extension("ctl")).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
        let mut model = Model::new(&mut client);
        let mut rng = Pcg64Mcg::seed_from_u64(3);
        for _ in 0..3 {
            for _ in 0..60 {
                model.step(&mut client, &mut rng).unwrap();
            }
            assert!(ordered(&path, r#"{"order": "power-cut"}"#)["done"]["pages"].is_u64());
            // How late answers were begins anew, too.
            let stats = ordered(&path, r#"{"order": "stats"}"#);
            assert_eq!(stats["done"]["lateness_ns"], json!(null), "{options}");
            assert_eq!(stats["done"]["drive"]["requests"]["completed"], 0);
            // The same connection goes on.
            model.power_was_cut(&mut client);
        }
        // What is under way fails, or was answered before.
        let asked = 200;
        for page in 0..asked {
            client.ask((WRITE, 0), page * 4096, 4096, &[7; 4096]).unwrap();
        }
        let cut = ordered(&path, r#"{"order": "power-cut"}"#)["done"].take();
        let answers: Vec<u32> = (0..asked).map(|_| client.answer().unwrap().1).collect();
        assert!(answers.iter().all(|&errno| errno == 0 || errno == 5), "{answers:?}");
        let failed = answers.iter().filter(|&&errno| errno == 5).count();
        assert_eq!(cut["unanswered"], failed, "{cut}");
        assert_eq!(cut["saved"], false, "{cut}");
        assert!(ordered(&path, r#"{"order": "power"}"#)["error"].is_string());
        assert!(ordered(&path, "nonsense")["error"].is_string());
        assert!(server.end().success());
        assert!(!path.with_extension("ctl").exists());
    }
}

#[test]
fn a_snapshot_has_all_that_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "page");
    let copy = folder.path().join("copy");
    let mut server = Server::start_with(&path, "control record");
    let mut client = server.client();
    let mut model = Model::new(&mut client);
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    for _ in 0..150 {
        model.step(&mut client, &mut rng).unwrap();
    }
    let before = model.clone();
    let order = json!({"order": "snapshot", "file": copy}).to_string();
    assert!(ordered(&path, &order)["done"]["shared"].is_boolean());
    assert!(ordered(&path, &order)["error"].as_str().unwrap().contains("exists"));
    for _ in 0..50 {
        model.step(&mut client, &mut rng).unwrap();
    }
    assert_eq!(ordered(&path, r#"{"order": "flush"}"#), json!({"done": {}}));
    let stats = ordered(&path, r#"{"order": "stats"}"#);
    assert_eq!(stats["done"]["clients"], 1);
    assert!(stats["done"]["buffered_pages"].as_u64().unwrap() <= 16);
    assert!(stats["done"]["drive"]["flash"]["programs"]["total"].as_u64().unwrap() > 100);
    let cut = ordered(&path, r#"{"order": "power-cut"}"#);
    assert!(cut["error"].as_str().unwrap().contains("trace"), "{cut}");
    assert!(server.end().success());
    before.compare_all(&mut Drive::open(&copy, false).unwrap().0);
    model.compare_all(&mut Drive::open(&path, false).unwrap().0);
}

#[test]
fn a_page_that_cannot_be_read_costs_nobody_else_anything() {
    use std::os::unix::fs::FileExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "page");
    let mut server = Server::start(&path);
    let mut client = server.client();
    for page in 0..16 {
        client.write(page * 4096, &[0x70 + page as u8; 4096], true).unwrap();
    }
    let bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(4096).position(|window| window == [0x73; 4096]).expect("page 3");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"damage", at as u64).unwrap();
    for _ in 0..3 {
        let asked: Vec<u64> =
            (0..16).map(|page| client.ask((READ, 0), page * 4096, 4096, &[]).unwrap()).collect();
        for _ in 0..16 {
            let (cookie, errno, data) = client.answer().unwrap();
            let page = cookie - asked[0];
            let wanted = if page == 3 { vec![] } else { vec![0x70 + page as u8; 4096] };
            assert_eq!((errno, data), (if page == 3 { 5 } else { 0 }, wanted), "page {page}");
        }
        // A part of it cannot be written, as the rest would be lost; the whole of it can.
        assert_eq!(client.call((WRITE, 0), 3 * 4096, 512, &[1; 512]), Ok((5, vec![])));
        // Nothing is kept of a write that fails.
        assert_eq!(client.call((WRITE, 0), 2 * 4096, 4608, &[1; 4608]), Ok((5, vec![])));
        assert_eq!(client.call((READ, 0), 2 * 4096, 4096, &[]), Ok((0, vec![0x72; 4096])));
    }
    client.write(3 * 4096, &[9; 4096], false).unwrap();
    assert_eq!(client.call((READ, 0), 3 * 4096, 4096, &[]), Ok((0, vec![9; 4096])));
    assert!(server.end().success());
}

#[test]
fn an_end_that_is_asked_for_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "page");
    let mut server = Server::start(&path);
    let mut client = server.client();
    let mut model = Model::new(&mut client);
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    for _ in 0..300 {
        model.step(&mut client, &mut rng).unwrap();
    }
    // Nothing of this has been flushed; the clients stay.
    assert!(server.end().success());
    assert!(!path.with_extension("sock").exists());
    assert!(Drive::info(&path).unwrap().state.unwrap().clean);
    let (mut drive, found) = Drive::open(&path, false).unwrap();
    assert_eq!(found.torn, 0);
    model.compare_all(&mut drive);
}

/// What a server of figures says to these bytes, up to the end of the connection.
fn told_by_http(at: &str, asked: &[u8]) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(at).unwrap();
    stream.write_all(asked).unwrap();
    let mut said = Vec::new();
    // One that is refused may be cut off before it has said everything.
    _ = stream.read_to_end(&mut said);
    String::from_utf8(said).unwrap()
}

#[test]
fn figures_are_told_to_programs_of_this_machine_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "page");
    let mut server = Server::start_with(&path, "http pace");
    let mut client = server.client();
    for page in 0..40 {
        client.write(page * 4096, &[1; 4096], false).unwrap();
    }
    client.read(0, &mut [0; 4096]).unwrap();
    client.flush().unwrap();
    let told: serde_json::Value =
        serde_json::from_slice(&std::fs::read(path.with_extension("told")).unwrap()).unwrap();
    let page = told["page"].as_str().unwrap();
    let at = page.strip_prefix("http://").unwrap().trim_end_matches('/');
    let get = |path: &str, host: &str| {
        told_by_http(at, format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
    };
    for host in ["127.0.0.1", "localhost:8080", "LocalHost", "[::1]:1"] {
        let said = get("/?x", host);
        assert!(said.starts_with("HTTP/1.1 200 ") && said.ends_with("<p>a page"), "{said}");
        assert!(said.contains("default-src 'none'"), "{said}");
    }
    for host in ["example.org", "127.0.0.1.example.org", "localhost:x", "localhostx", ""] {
        assert!(get("/metrics", host).starts_with("HTTP/1.1 403 "), "{host}");
    }
    let refused: [(&[u8], &str); 7] = [
        (b"GET / HTTP/1.1\r\n\r\n", "403"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", "403"),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
        (b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", "400"),
        (b"NBDMAGIC\0\0\0", "400"),
        (b"GET /etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
    ];
    for (asked, status) in refused {
        let said = told_by_http(at, asked);
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{said}");
    }
    let long = [b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ".to_vec(), vec![b'x'; 9000]].concat();
    assert!(told_by_http(at, &long).starts_with("HTTP/1.1 431 "));

    let metrics = get("/metrics", "localhost");
    for line in [
        "eraseblock_requests_total{op=\"write\"} 40",
        "eraseblock_requests_total{op=\"flush\"} 1",
        "eraseblock_requests_completed_total 42",
        "eraseblock_requested_bytes_total 167936",
        "eraseblock_response_seconds_count{op=\"write\"} 40",
        "eraseblock_response_seconds_bucket{op=\"read\",le=\"+Inf\"} 1",
        "eraseblock_response_seconds_bucket{op=\"write\",le=\"17.179869183\"} 40",
        "eraseblock_lateness_seconds_count 42",
        "eraseblock_flash_programmed_pages_total{cause=\"host\"} 40",
        "eraseblock_write_amplification 1",
        "eraseblock_unstored_pages 0",
        "eraseblock_valid_pages 40",
        "eraseblock_clients 1",
        "eraseblock_failed 0",
    ] {
        assert!(metrics.lines().any(|one| one == line), "{line} is not in {metrics}");
    }
    let standing = get("/standing.json", "localhost");
    let json: serde_json::Value =
        serde_json::from_str(standing.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!((&json["buffer"]["capacity"], &json["blocks"]["count"]), (&json!(16), &json!(64)));
    // More than are let in, which say nothing, keep nobody out for long.
    let silent: Vec<_> = (0..20).map(|_| std::net::TcpStream::connect(at).unwrap()).collect();
    client.flush().unwrap();
    let start = Instant::now();
    while !get("/", "localhost").starts_with("HTTP/1.1 200 ") {
        assert!(start.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(silent);
    assert!(server.end().success());
}

/// A socket that is left is taken over by one server at a time: a second one would remove the new
/// socket of the first.
#[test]
fn whoever_takes_a_socket_over_waits_for_others_that_do() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let other = std::fs::File::open(folder.path()).unwrap();
    flock(&other, FlockOperation::LockExclusive).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let options = Options::at(Address::Unix(socket.clone()));
            // It has the socket by then, and serves nothing.
            let prepare = || tell.send(()).is_err();
            serve(&folder.path().join("none"), &options, prepare, |_| true).unwrap();
        });
        assert!(told.recv_timeout(Duration::from_millis(300)).is_err(), "it has not waited");
        flock(&other, FlockOperation::Unlock).unwrap();
        told.recv_timeout(Duration::from_secs(60)).unwrap();
    });
    // Nor does it wait for ever.
    flock(&other, FlockOperation::LockExclusive).unwrap();
    let options = Options::at(Address::Unix(socket));
    let refused = serve(&folder.path().join("none"), &options, || panic!("no socket"), |_| true);
    assert!(refused.unwrap_err().to_string().contains("has locked the folder"));
}

/// Who connects for orders and says nothing keeps nobody waiting.
#[test]
fn silence_keeps_nobody_from_giving_orders() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "page");
    let mut server = Server::start_with(&path, "control");
    _ = server.client();
    let connect = |_| std::os::unix::net::UnixStream::connect(path.with_extension("ctl")).unwrap();
    let silent: Vec<_> = (0..40).map(connect).collect();
    let start = Instant::now();
    assert!(ordered(&path, r#"{"order": "stats"}"#)["done"].is_object());
    // One after the other they would be given up after 200 s.
    assert!(start.elapsed() < Duration::from_secs(60));
    drop(silent);
    assert!(server.end().success());
}

/// Who sends a byte now and then is not waited for any longer than who sends none.
#[test]
fn orders_and_requests_that_come_byte_by_byte_are_given_up() {
    use std::io::{Read as _, Write as _};
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "page");
    let mut server = Server::start_with(&path, "control http");
    _ = server.client();
    let told: serde_json::Value =
        serde_json::from_slice(&std::fs::read(path.with_extension("told")).unwrap()).unwrap();
    let page = told["page"].as_str().unwrap();
    let at = page.strip_prefix("http://").unwrap().trim_end_matches('/');
    let mut order = std::os::unix::net::UnixStream::connect(path.with_extension("ctl")).unwrap();
    let mut request = std::net::TcpStream::connect(at).unwrap();
    let start = Instant::now();
    // Both go on until the other side has hung up.
    let (mut orders, mut asks) = (true, true);
    while orders || asks {
        orders = orders && order.write_all(b" ").is_ok();
        asks = asks && request.write_all(b"x").is_ok();
        assert!(start.elapsed() < Duration::from_secs(60), "{orders} {asks}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut said = Vec::new();
    assert_eq!((order.read_to_end(&mut said).unwrap_or(0), said.len()), (0, 0));
    assert!(ordered(&path, r#"{"order": "stats"}"#)["done"].is_object());
    assert!(server.end().success());
}
