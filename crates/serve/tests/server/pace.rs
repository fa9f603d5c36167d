//! Answers that come in time: what the thread that gives them has of the processor, and who gets
//! them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

use eraseblock_core::config::DeviceConfig;
use eraseblock_serve::Drive;
use serde_json::{Value, json};

use super::common::client::{Client, READ, TRIM, WRITE, ZEROES};
use super::common::{Host as _, config};
use super::{Server, ordered};

#[path = "../../src/share.rs"]
mod share;

use share::{MOST, Share};

impl Server {
    /// The policy by which the system gives each thread the processor: 0 is the normal one.
    fn policies(&self) -> Vec<u32> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let stats =
            tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok());
        stats.map(|stat| policy(&stat)).collect()
    }

    /// The thread that has real-time priority, if one has it now.
    fn real_time_thread(&self) -> Option<PathBuf> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        tasks.filter_map(|task| Some(task.ok()?.path())).find(|task| {
            std::fs::read_to_string(task.join("stat")).is_ok_and(|stat| policy(&stat) == 1)
        })
    }
}

/// What the kernel says of a thread, after its name.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit(')').next().unwrap().split_whitespace()
}

fn policy(stat: &str) -> u32 {
    fields(stat).nth(38).unwrap().parse().unwrap()
}

/// Processor time that a thread has had so far.
fn processor_time(stat: &str) -> Duration {
    // The kernel counts a hundred a second for programs, whatever its own clock does.
    let ticks = fields(stat).skip(11).take(2).map(|field| field.parse::<u64>().unwrap());
    Duration::from_millis(10 * ticks.sum::<u64>())
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

/// How much of a second is spent before all other work by a thread that is awake for `awake`, then
/// sleeps for `slept`, and so on.
fn had_first(awake: Duration, slept: Duration) -> Duration {
    const STEP: Duration = Duration::from_micros(100);
    let (mut share, mut first) = (Share::default(), false);
    let (mut now, mut had, mut since) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    while now < Duration::from_secs(1) {
        first = share.changes(now).unwrap_or(first);
        had += if first { STEP } else { Duration::ZERO };
        (now, since) = (now + STEP, since + STEP);
        if since >= awake {
            share.sleeps(slept);
            (now, since) = (now + slept, Duration::ZERO);
        }
    }
    had
}

/// A thread that is always awake leaves a fifth of the time to others. One that sleeps as long as
/// that anyhow comes first whenever it is awake.
#[test]
fn real_time_priority_is_had_for_a_share_of_the_time() {
    let millis = Duration::from_millis;
    let always = had_first(millis(1), Duration::ZERO);
    assert!(always.abs_diff(10 * MOST) < millis(10), "{always:?}");
    // Nine tenths awake: after 80 ms of that the piece has 11 more.
    let nine_tenths = had_first(millis(9), millis(1));
    assert!(nine_tenths.abs_diff(10 * MOST) < millis(20), "{nine_tenths:?}");
    let often = had_first(millis(3), millis(1));
    assert!(often.abs_diff(millis(750)) < millis(10), "{often:?}");
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
    let (samples, normal, busy) = std::thread::scope(|scope| {
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
        let found = std::iter::repeat_with(|| server.real_time_thread())
            .find(|found| found.is_some() || start.elapsed() > Duration::from_secs(10));
        let Some(thread) = found.flatten().map(|thread| thread.join("stat")) else {
            ends.store(true, Relaxed);
            panic!("never real-time");
        };
        let stat = || std::fs::read_to_string(&thread).unwrap();
        let (mut samples, mut normal) = (0, 0);
        let (begin, before) = (Instant::now(), processor_time(&stat()));
        for _ in 0..1000 {
            std::thread::sleep(Duration::from_millis(2));
            samples += 1;
            normal += u32::from(policy(&stat()) != 1);
        }
        let taken = processor_time(&stat()).saturating_sub(before);
        let busy = taken.as_secs_f64() / begin.elapsed().as_secs_f64();
        ends.store(true, Relaxed);
        (samples, normal, busy)
    });
    // It comes first for a part of the time, however busy it is. One that sleeps for a fifth of it
    // need not leave more to others.
    assert!(normal < samples, "{normal} of {samples} at {busy}");
    assert!(busy < 0.9 || normal * 20 > samples, "{normal} of {samples} at {busy}");
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

/// The drive may be ahead of the clock: it has answered what the client has not heard of when power
/// fails.
#[test]
fn what_is_still_to_be_told_when_power_fails_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let lru = config(&json!("page"), json!({"scheme": "lru", "size": "512 KiB"}));
    let mut slow = serde_json::to_value(lru).unwrap();
    slow["host"]["max_outstanding"] = 2.into();
    slow["nand"]["timing"]["program"] = "20 s".into();
    Drive::create(&path, &DeviceConfig::from_json(slow).unwrap()).unwrap();
    let mut server = Server::start_with(&path, "pace control");
    let (mut first, mut second) = (server.client(), server.client());
    for page in 0..40 {
        first.write(page * 4096, &[7; 4096], false).unwrap();
    }
    // Its three parts have to wait for one another: the drive goes on to when the first is stored.
    let forced = 1;
    first.ask((ZEROES, forced), 50 * 4096 + 100, 1 << 16, &[]).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    second.ask((WRITE, 0), 100 * 4096, 4096, &[9; 4096]).unwrap();
    second.ask((READ, 0), 5 * 4096, 4096, &[]).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    let cut = ordered(&path, r#"{"order": "power-cut"}"#)["done"].take();
    assert_eq!(cut["unanswered"], 3, "{cut}");
    assert_eq!([second.answer().unwrap().1, second.answer().unwrap().1], [5, 5]);
    assert_eq!(first.answer().unwrap().1, 5);
    let mut page = [1; 4096];
    second.read(100 * 4096, &mut page).unwrap();
    assert_eq!(page, [0; 4096], "it was in RAM alone");
    assert!(server.end().success());
}
