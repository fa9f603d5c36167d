//! Answers that come in time: what the thread that gives them has of the processor, and who gets
//! them.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

use eraseblock_core::config::DeviceConfig;
use eraseblock_serve::Drive;
use serde_json::{Value, json};

use super::common::client::{Client, READ, TRIM, WRITE};
use super::common::{Host as _, config};
use super::{Server, ordered};

impl Server {
    /// The policy by which the system gives each thread the processor: 0 is the normal one.
    fn policies(&self) -> Vec<u32> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let stats =
            tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok());
        let policy = |stat: String| {
            stat.rsplit(')').next().unwrap().split_whitespace().nth(38).unwrap().parse().unwrap()
        };
        stats.map(policy).collect()
    }

    /// Processor time that it has had so far.
    fn processor_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11);
        // The kernel counts a hundred a second for programs, whatever its own clock does.
        Duration::from_millis(
            10 * fields.take(2).map(|field| field.parse::<u64>().unwrap()).sum::<u64>(),
        )
    }
}

/// A drive that answers each read in some 65 us, eight at once, and holds something everywhere.
fn full(path: &Path, server: &mut Server) -> Client {
    let mut client = server.client();
    for at in (0..1 << 20).step_by(1 << 16) {
        client.write(at, &vec![1; 1 << 16], false).unwrap();
    }
    client.flush().unwrap();
    assert!(path.exists());
    client
}

fn paced(path: &Path) {
    Drive::create(path, &config(&json!("page"), json!({"scheme": "none", "size": "0 B"}))).unwrap();
}

fn told(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path.with_extension("told")).unwrap()).unwrap()
}

/// One thread has real-time priority where the system gives it, and says so. Those who do not want
/// it have none.
#[test]
#[cfg(target_os = "linux")]
fn the_thread_that_answers_in_time_has_real_time_priority_where_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("paced");
    paced(&path);
    for (options, asked) in
        [("pace control", true), ("pace normal control", false), ("control", false)]
    {
        let mut server = Server::start_with(&path, options);
        let mut client = full(&path, &mut server);
        let said = told(&path)["real_time"].clone();
        assert_eq!(ordered(&path, r#"{"order": "stats"}"#)["done"]["real_time"], said, "{options}");
        // A request in time, and it is there again if it was not.
        let start = Instant::now();
        let real_time = loop {
            client.read(0, &mut [0; 4096]).unwrap();
            let policies = server.policies();
            assert!(policies.iter().all(|&policy| policy <= 1), "{policies:?}");
            let real_time = policies.iter().filter(|&&policy| policy == 1).count();
            if (real_time == 1) == (said == true) || start.elapsed() > Duration::from_secs(5) {
                break real_time;
            }
        };
        assert_eq!(real_time, usize::from(said == true), "{options}: {said}");
        assert!(asked || said != true, "{options}: {said}");
        assert_eq!(said.is_null(), options == "control");
        assert!(server.end().success());
    }
}

/// However much there is to do, a part of the time is everybody's.
#[test]
#[cfg(target_os = "linux")]
fn a_busy_drive_leaves_a_part_of_the_processor_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("paced");
    paced(&path);
    let mut server = Server::start_with(&path, "pace");
    let mut client = full(&path, &mut server);
    if told(&path)["real_time"] != true {
        let why = told(&path)["real_time"].to_string();
        writeln!(std::io::stderr(), "skipped: no real-time priority here ({why})").unwrap();
        return;
    }
    // More than it can take, at all times.
    for page in 0..200 {
        client.ask((READ, 0), page * 4096, 512, &[]).unwrap();
    }
    let ends = AtomicBool::new(false);
    let (samples, normal, is_busy) = std::thread::scope(|scope| {
        scope.spawn(|| {
            for page in (0..256).cycle() {
                if ends.load(Relaxed) {
                    break;
                }
                client.answer().unwrap();
                client.ask((READ, 0), page * 4096, 512, &[]).unwrap();
            }
        });
        let start = Instant::now();
        while !server.policies().contains(&1) && start.elapsed() < Duration::from_secs(10) {}
        let (mut samples, mut normal) = (0, 0);
        let (begin, before) = (Instant::now(), server.processor_time());
        for _ in 0..1000 {
            std::thread::sleep(Duration::from_millis(2));
            samples += 1;
            normal += u32::from(!server.policies().contains(&1));
        }
        ends.store(true, Relaxed);
        let taken = server.processor_time().saturating_sub(before);
        let is_busy = taken * 2 > begin.elapsed();
        (samples, normal, is_busy)
    });
    if !is_busy {
        writeln!(std::io::stderr(), "skipped: others left the drive too little to do").unwrap();
        return;
    }
    // How often it is seen so is a matter of what else runs.
    assert!(0 < normal && normal < samples, "{normal} of {samples}");
}

/// Whoever came first and asks for more than the drive can take leaves room to those who came
/// later.
#[test]
fn clients_that_wait_for_room_have_it_in_turn() {
    const MANY: usize = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("paced");
    paced(&path);
    let mut server = Server::start_with(&path, "pace");
    let mut greedy = full(&path, &mut server);
    let mut modest = server.client();
    modest.read(0, &mut [0; 4096]).unwrap();
    let answered = AtomicUsize::new(0);
    let (asker, answered) = (&mut greedy, &answered);
    let (before, after) = std::thread::scope(|scope| {
        scope.spawn(move || {
            for page in 0..MANY as u64 {
                asker.ask((READ, 0), page % 256 * 4096, 512, &[]).unwrap();
                // So many are always waiting, and the answers do not fill the socket.
                if page >= 200 {
                    asker.answer().unwrap();
                    answered.fetch_add(1, Relaxed);
                }
            }
            (0..200).for_each(|_| _ = asker.answer().unwrap());
            answered.fetch_add(200, Relaxed);
        });
        while answered.load(Relaxed) < 200 {
            std::thread::yield_now();
        }
        let before = answered.load(Relaxed);
        for _ in 0..3 {
            modest.read(0, &mut [0; 512]).unwrap();
        }
        (before, answered.load(Relaxed))
    });
    assert!(after < before + MANY / 2, "{} others were answered meanwhile", after - before);
}

/// Many trims of much are many turns of others.
#[test]
fn large_trims_leave_others_their_turn() {
    const TRIMS: u64 = 60;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    let large = config(&json!("page"), json!({"scheme": "none", "size": "0 B"}));
    let mut large = serde_json::to_value(large).unwrap();
    large["nand"]["blocks_per_plane"] = 6000.into();
    large["nand"]["pages_per_block"] = 128.into();
    large["ftl"]["exported"] = "4 GiB".into();
    Drive::create(&path, &DeviceConfig::from_json(large).unwrap()).unwrap();
    let mut server = Server::start(&path);
    let (mut trimming, mut other) = (server.client(), server.client());
    for at in [0, 3 << 30] {
        other.write(at, &[1; 4096], false).unwrap();
    }
    let answered = AtomicUsize::new(0);
    let answered = &answered;
    let found = std::thread::scope(|scope| {
        for _ in 0..TRIMS {
            trimming.ask((TRIM, 0), 4096, (4 << 30) - 8192, &[]).unwrap();
        }
        scope.spawn(move || {
            for _ in 0..TRIMS {
                assert_eq!(trimming.answer().unwrap().1, 0);
                answered.fetch_add(1, Relaxed);
            }
        });
        let mut found = [0; 4096];
        other.read(0, &mut found).unwrap();
        assert_eq!(found, [1; 4096]);
        let asked = other.ask((WRITE, 0), 8192, 4096, &[2; 4096]).unwrap();
        assert_eq!(other.answer().unwrap(), (asked, 0, vec![]));
        answered.load(Relaxed)
    });
    assert!(found < TRIMS as usize / 2, "{found} trims came before");
    // All of them have been done.
    for (at, byte) in [(0, 1), (3 << 30, 0)] {
        let mut left = [2; 4096];
        other.read(at, &mut left).unwrap();
        assert_eq!(left, [byte; 4096]);
    }
    assert!(server.end().success());
}
