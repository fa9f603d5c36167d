//! The miss-ratio curve against real LRU buffers, samples against the whole, and what a profile
//! says of a workload.

use std::path::{Path, PathBuf};

use eraseblock_core::buffer::{Answer, BufferConfig, Idle, Outcome, Shape, Span};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::support::ids::Lpn;
use eraseblock_traces::characterise::{Accesses, MissRatio};
use eraseblock_traces::{
    CharacteriseOptions, DriveShape, FitMode, Ops, Profile, Workload, WorkloadConfig,
};
use serde_json::json;

const PAGE: u64 = 4096;
const BLOCK_PAGES: u64 = 64;
const DRIVE: DriveShape =
    DriveShape { exported_bytes: 1 << 30, page_bytes: PAGE, block_bytes: PAGE * BLOCK_PAGES };

fn bundled() -> WorkloadConfig {
    WorkloadConfig { fit: FitMode::Compact, ..WorkloadConfig::trace("pgbench-ext4.nbdkit.zst") }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads")
}

fn generated(kind: &str, requests: u64, footprint: u64, size: u64) -> WorkloadConfig {
    let parameters = json!({
        "kind": kind, "requests": requests, "footprint": format!("{footprint} B"), "size": format!("{size} B"),
        "read_share": 0.4, "interval": "20 us",
    });
    WorkloadConfig::generated(serde_json::from_value(parameters).unwrap())
}

fn characterised(config: &WorkloadConfig, options: CharacteriseOptions) -> (Workload, Profile) {
    config.characterise(&folder(), options, &mut |_| true).unwrap()
}

fn profile(config: &WorkloadConfig) -> Profile {
    characterised(config, CharacteriseOptions::default()).1
}

/// Page hits of reads and of writes in the simulator's own buffer, which gets what a drive would
/// give it, but no flushes.
fn hits_of_the_buffer(requests: &[Request], scheme: &str, capacity: u64) -> [u64; 2] {
    let shape = Shape {
        capacity: capacity as u32,
        pages_per_block: BLOCK_PAGES as u32,
        logical_pages: (DRIVE.exported_bytes / PAGE) as u32,
    };
    let config: BufferConfig = serde_json::from_str(scheme).unwrap();
    let mut buffer = config.build(shape).unwrap();
    let (mut out, mut hits) = (Outcome::default(), [0; 2]);
    for (number, request) in (0..).zip(requests) {
        let end = request.offset + request.len;
        match request.op {
            Op::Flush => {}
            Op::Trim => {
                let (first, last) = (request.offset.div_ceil(PAGE), end / PAGE);
                if first < last {
                    buffer.trim(Lpn(first as u32), (last - first) as u32);
                }
            }
            Op::Read | Op::Write => {
                let write = request.op == Op::Write;
                let (mut at, last) = (request.offset / PAGE, end.div_ceil(PAGE));
                while at < last {
                    let count = (last - at).min(BLOCK_PAGES - at % BLOCK_PAGES);
                    out.clear();
                    let span =
                        Span { first: Lpn(at as u32), count: count as u32, write, request: number };
                    buffer.access(&span, &Idle, &mut out);
                    let found = out.answers.iter().filter(|&&answer| answer == Answer::Hit).count();
                    hits[usize::from(write)] += found as u64;
                    at += count;
                }
            }
        }
    }
    hits
}

#[test]
fn the_curve_is_that_of_the_lru_buffer() {
    for config in [
        bundled(),
        generated("zipf", 60_000, 64 << 20, 12 << 10),
        generated("sequential", 30_000, 16 << 20, 6 << 10),
    ] {
        let (workload, profile) = characterised(&config, CharacteriseOptions::default());
        let name = &workload.identity().name;
        assert_eq!(profile.miss_ratio.method, "exact");
        let footprint = profile.footprint.pages;
        let requests: Vec<_> =
            workload.fit(DRIVE).unwrap().requests().map(|request| request.unwrap()).collect();
        for pages in [1, 2, 30, 256, 4096, footprint / 2, footprint - 1, footprint] {
            let hits = |accesses| profile.miss_ratio.hits(accesses, pages);
            let [read, write] = hits_of_the_buffer(&requests, r#""lru""#, pages);
            assert_eq!(
                [hits(Accesses::Read), hits(Accesses::Write), hits(Accesses::All)],
                [read, write, read + write],
                "{name}, {pages} pages"
            );
            let [_, write] =
                hits_of_the_buffer(&requests, r#"{"kind": "lru", "reads": "bypass"}"#, pages);
            assert_eq!(hits(Accesses::WriteOnly), write, "{name}, {pages} pages, writes alone");
        }
    }
}

/// Mean absolute difference over the sizes at which the exact curve is given, of those kinds that
/// both have.
fn mean_error(exact: &MissRatio, other: &MissRatio) -> f64 {
    let kinds = [Accesses::All, Accesses::Read, Accesses::Write, Accesses::WriteOnly];
    let errors = exact.points.iter().flat_map(|point| {
        kinds.iter().filter_map(|&kind| {
            Some((exact.at(kind, point.buffer_pages)? - other.at(kind, point.buffer_pages)?).abs())
        })
    });
    errors.clone().sum::<f64>() / errors.count() as f64
}

#[test]
fn samples_err_no_more_than_they_say() {
    let zipf = |theta: f64| {
        let mut parameters =
            serde_json::to_value(generated("zipf", 300_000, 400 << 20, PAGE)).unwrap();
        parameters["generate"]["theta"] = theta.into();
        serde_json::from_value(parameters).unwrap()
    };
    for (name, config) in [
        ("bundled", bundled()),
        ("uniform", generated("uniform", 300_000, 200 << 20, PAGE)),
        ("sequential", generated("sequential", 100_000, 100 << 20, 16 << 10)),
        ("zipf 0.7", zipf(0.7)),
        ("zipf 0.99", zipf(0.99)),
    ] {
        let exact = profile(&config).miss_ratio;
        for rate in [0.25, 0.03125] {
            let options = CharacteriseOptions { sample: Some(rate), ..Default::default() };
            let (_, sampled) = characterised(&config, options);
            let curve = &sampled.miss_ratio;
            assert_eq!((curve.method, curve.sample_rate), ("sampled", rate));
            let error = mean_error(&exact, curve);
            assert!(curve.expected_error < 0.25 && error > 0.0);
            assert!(
                error <= curve.expected_error,
                "{name} at {rate}: {error} > {}",
                curve.expected_error
            );
        }
    }
}

#[test]
fn a_footprint_beyond_the_limit_is_sampled() {
    let config = generated("zipf", 200_000, 400 << 20, PAGE);
    let exact = profile(&config);
    let options = CharacteriseOptions { max_pages: 4000, ..Default::default() };
    let (_, sampled) = characterised(&config, options);
    let curve = &sampled.miss_ratio;
    assert_eq!(curve.method, "sampled");
    assert!((2000..=4000).contains(&curve.sampled_pages), "{}", curve.sampled_pages);
    assert_eq!(sampled.footprint.pages, curve.sampled_pages * (1.0 / curve.sample_rate) as u64);
    let error = mean_error(&exact.miss_ratio, curve);
    assert!(error <= curve.expected_error, "{error} > {}", curve.expected_error);
    let near = |a: u64, b: u64, what: &str| {
        assert!((a as f64 / b as f64 - 1.0).abs() < 0.05, "{what}: {a} and {b}");
    };
    near(sampled.footprint.pages, exact.footprint.pages, "footprint");
    near(sampled.footprint.written_pages, exact.footprint.written_pages, "pages written");
    near(sampled.over_time.pages_mean as u64, exact.over_time.pages_mean as u64, "working set");
    assert_eq!(sampled.footprint.page_writes, exact.footprint.page_writes);
    assert_eq!((&sampled.mix, &sampled.size_bytes), (&exact.mix, &exact.size_bytes));
}

#[test]
fn the_selected_part_is_characterised_alone() {
    let (workload, whole) = characterised(&bundled(), CharacteriseOptions::default());
    let config = WorkloadConfig { ops: Ops::W, first: Some(10_000), ..bundled() };
    let (part_of, part) = characterised(&config, CharacteriseOptions::default());
    assert_eq!(part_of.summary(), workload.summary());
    assert_eq!((whole.requests, part.requests), (workload.identity().requests, 10_000));
    assert_eq!((part.mix.read.requests, part.footprint.page_reads), (0, 0));
    assert_eq!(part.miss_ratio.at(Accesses::Read, 100), None);
    assert_eq!(part.reuse.all, part.reuse.write);
    assert_eq!(part.reuse.all.distance_pages, part.reuse_write_only.distance_pages);
    let selected = part_of.selected();
    assert_eq!(part.mix.write.bytes, selected.write_bytes);
    assert_eq!(part.size_bytes.write.mean, selected.mean_write_bytes);
    assert_eq!(part.arrivals.duration_ns, selected.duration_ns);
}

#[test]
fn figures_of_a_profile_agree_with_one_another() {
    for config in [bundled(), generated("zipf", 50_000, 64 << 20, 20 << 10)] {
        let found = profile(&config);
        assert_eq!(found, profile(&config), "two passes");
        let footprint = &found.footprint;
        let accesses = footprint.page_reads + footprint.page_writes;
        assert_eq!(
            footprint.pages,
            footprint.read_pages + footprint.written_pages - footprint.both_pages
        );
        assert!(footprint.read_before_written_pages <= footprint.both_pages);
        for (reuse, count) in [
            (&found.reuse.all, accesses),
            (&found.reuse.read, footprint.page_reads),
            (&found.reuse.write, footprint.page_writes),
            (&found.reuse_write_only, footprint.page_writes),
        ] {
            assert_eq!(reuse.first_uses + reuse.distance_pages.count, count);
            if let Some(times) = &reuse.time_ns {
                assert_eq!(times.count, reuse.distance_pages.count);
            }
        }
        let last = found.miss_ratio.points.last().unwrap();
        assert_eq!(last.buffer_pages, footprint.pages);
        assert_eq!(last.all, Some(found.reuse.all.first_uses as f64 / accesses as f64));
        let windows = &found.over_time.windows;
        assert_eq!(windows.iter().map(|window| window.requests).sum::<u64>(), found.requests);
        assert!(windows.iter().all(|window| window.pages <= footprint.pages));
        let runs = &found.sequential_writes.run_bytes;
        let bytes = runs.mean.unwrap() * runs.count as f64;
        assert!((bytes - found.mix.write.bytes as f64).abs() < 1.0);
        assert_eq!(found.flushes.count, found.mix.flush.requests);
    }
}

#[test]
fn options_that_cannot_be_are_refused() {
    let error = |options| {
        let config = generated("uniform", 10, 1 << 20, PAGE);
        config.characterise(Path::new("."), options, &mut |_| true).unwrap_err().to_string()
    };
    let odd = CharacteriseOptions { page_bytes: 5000, ..Default::default() };
    assert!(error(odd).contains("page size: found 5000 B, expected a power of two"));
    for share in [0.0, 1.5, f64::NAN, -1.0, 1e-30] {
        let options = CharacteriseOptions { sample: Some(share), ..Default::default() };
        assert!(
            error(options).contains("expected a share of the pages above 0 and up to 1"),
            "{share}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("far.spc"), "0,562949953421312,512,w,0\n").unwrap();
    let far = |page_bytes| {
        let options = CharacteriseOptions { page_bytes, ..Default::default() };
        WorkloadConfig::trace("far.spc").characterise(folder.path(), options, &mut |_| true)
    };
    let error = far(512).unwrap_err().to_string();
    assert!(error.contains("take larger pages"), "{error}");
    assert_eq!(far(4096).unwrap().1.footprint.pages, 1);
}

#[test]
fn a_long_request_can_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("long.spc"), "0,0,1099511627776,w,0\n").unwrap();
    let mut asked = 0;
    let mut config = WorkloadConfig::trace("long.spc");
    config.max_request = "1 TiB".parse().unwrap();
    let error = config
        .characterise(folder.path(), CharacteriseOptions::default(), &mut |_| {
            asked += 1;
            asked < 4
        })
        .unwrap_err();
    assert!(error.is_cancelled() && asked == 4);
}
