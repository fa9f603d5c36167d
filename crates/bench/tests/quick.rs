//! Every bench runs at a sixteenth of its size, and simulates the same each time.

use eraseblock_bench::drive::Scale;
use eraseblock_bench::goals::GOALS;
use eraseblock_bench::instructions::Work;
use eraseblock_bench::{buffers, generators, instructions, readers, scale, stream, table};
use eraseblock_core::buffer;
use eraseblock_core::config::Bytes;

#[test]
fn benches_run_and_repeat_themselves() {
    for goal in GOALS {
        let hashes = || {
            let figures = (goal.measure)(Scale::QUICK).unwrap();
            assert!(figures.iter().all(|f| f.value > 0.0 && f.value.is_finite()), "{figures:?}");
            assert!(table::figures(&figures).lines().all(|line| line.chars().count() <= 100));
            figures.into_iter().map(|f| f.hash).collect::<Vec<_>>()
        };
        assert_eq!(hashes(), hashes(), "bench {}", goal.name);
    }
}

#[test]
fn every_registered_buffer_has_a_rate() {
    let rates = buffers::rates(Scale::QUICK).unwrap();
    assert_eq!(rates.len(), buffer::registry().len());
    for rate in &rates {
        // Uniform accesses to twice as many pages as the buffer holds hit at most half the time,
        // unless the buffer knows them before.
        let bound =
            buffer::registry().iter().any(|entry| entry.name == rate.name && entry.about.bound);
        assert!((rate.hit_ratio <= 0.5 || bound) && rate.rate > 0.0, "{rate:?}");
        // S-FTL's buffers leave half of the room to long requests, of which there are none.
        let least = match rate.name {
            "none" => 0.0,
            "sftl" => 0.2,
            _ => 0.4,
        };
        assert!(
            rate.hit_ratio >= least && (rate.hit_ratio > 0.0) == (rate.name != "none"),
            "{rate:?}"
        );
    }
    assert!(table::rates(&rates).lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn every_registered_format_has_a_rate() {
    let rates = readers::rates(Scale::QUICK).unwrap();
    assert_eq!(rates.len(), eraseblock_traces::formats().count());
    assert!(
        rates.iter().all(|r| r.rate > 0.0 && r.megabytes > 0.0 && r.first_pass_rate > 0.0),
        "{rates:?}"
    );
    assert!(table::read_rates(&rates).lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn counted_accesses_fill_the_buffer() {
    let works = [Work::Access, Work::Flush];
    for (work, entry) in
        works.into_iter().flat_map(|work| buffer::registry().iter().map(move |e| (work, e)))
    {
        let done = instructions::run(work, entry.name, 1 << 20, 1000).unwrap();
        assert_eq!(done.left > 0, entry.name != "none", "{}", entry.name);
        assert!(done.ns > 0.0, "{}", entry.name);
    }
    let error = instructions::run(Work::Access, "lrv", 1 << 20, 1).unwrap_err();
    assert!(error.contains("`lrv`") && error.contains("lru"), "{error}");
}

#[test]
fn every_registered_generator_has_a_rate() {
    let hashes = || {
        let rates = generators::rates(Scale::QUICK).unwrap();
        assert_eq!(rates.len(), eraseblock_traces::generators().len());
        assert!(rates.iter().all(|rate| rate.rate > 0.0), "{rates:?}");
        assert!(table::make_rates(&rates).lines().all(|line| line.chars().count() <= 100));
        rates.into_iter().map(|rate| rate.hash).collect::<Vec<_>>()
    };
    assert_eq!(hashes(), hashes());
}

#[test]
fn a_stream_is_written_and_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zipf.oracleGeneral");
    stream::write_zipf(&path, 50_000).unwrap();
    let hits = |pages| stream::pass(&path, "lru", pages).unwrap();
    let (small, large) = (hits(1000), hits(10_000));
    assert_eq!((small.accesses, large.accesses), (50_000, 50_000));
    assert!(
        0 < small.hits && small.hits < large.hits && large.hits < 50_000,
        "{small:?} {large:?}"
    );
    // Whatever the future holds is known: no scheme does better.
    for name in buffer::BufferConfig::NAMES {
        let found = stream::pass(&path, name, 1000).unwrap();
        let best = stream::pass(&path, "opt", 1000).unwrap();
        assert!(found.accesses == 50_000 && found.hits <= best.hits, "{name}: {found:?}, {best:?}");
    }
    assert!(stream::pass(&path, "lrv", 1000).unwrap_err().contains("`lrv`"));
    std::fs::write(&path, [0; 50]).unwrap();
    let error = stream::pass(&path, "lru", 1000).unwrap_err();
    assert!(error.contains("ends within a record, at byte 50"), "{error}");
}

#[test]
fn drives_of_all_sizes_are_filled_and_collect_garbage() {
    let size = scale::Size { chips: 8, exported: Bytes(8 << 30) };
    let mut stages = Vec::new();
    let done = scale::run(size, 20_000, |stage| {
        stages.push(stage);
        Ok(())
    });
    let done = done.unwrap();
    assert_eq!(stages, ["begin", "end"]);
    // Half of the requests read, the others write, and collection copies.
    assert!(done.flash_ops > 30_000 && done.waf > 1.5 && done.bytes_per_page < 10.0, "{done:?}");
    let cost = |instructions| scale::Cost {
        size,
        instructions,
        ns: 1.0,
        bytes_per_page: 8.0,
        fill_s: 1.0,
        waf: 2.0,
    };
    let (ratio, good) = scale::verdict(&[cost(Some(100.0)), cost(Some(140.0)), cost(None)]);
    assert!(ratio == Some(1.4) && !good);
    assert!(
        table::scales(&[cost(Some(1.0))], Some(1.0))
            .lines()
            .all(|line| line.chars().count() <= 100)
    );
}
