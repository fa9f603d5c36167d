//! What a record shows in steps and cells adds up to what it says in one figure.

use crate::common;
use crate::common::{Random, closed, drive, nand, preconditioned, request};
use eraseblock_core::buffer::BufferConfig;
use eraseblock_core::config::{Bytes, DeviceConfig, EndOfRun, Precondition, Replay};
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::Op;
use eraseblock_core::metrics::Report;
use eraseblock_core::metrics::series::SeriesReport;

fn run(config: &DeviceConfig, requests: u64) -> Report {
    let mut device = Device::new(config, Options { verify: false }).unwrap();
    device.precondition().unwrap();
    let mut random = Random::new(3);
    for i in 0..requests {
        let op = if random.chance(0.4) { Op::Read } else { Op::Write };
        device.submit(&request(op, random.below(700), 1 + random.below(4), i * 300_000)).unwrap();
    }
    device.finish().unwrap()
}

fn config() -> DeviceConfig {
    let mut config = preconditioned(drive(nand([2, 1, 1, 1], 32, 16), 704), Precondition::Full);
    config.buffer.size = Bytes(32 * common::PAGE);
    config.buffer.scheme = BufferConfig::by_name("lru").unwrap();
    config.host.end_of_run = EndOfRun::Keep;
    config
}

#[test]
fn steps_add_up_to_the_whole_run() {
    for (config, requests) in [(config(), 5000), (config(), 7), (closed(config(), 4), 3000)] {
        let report = run(&config, requests);
        let series: SeriesReport = report.figures.read("series").unwrap();
        let sum = |column: &[u64]| column.iter().sum::<u64>();
        assert_eq!(sum(&series.requests), report.requests.submitted);
        assert_eq!(sum(&series.answers), report.requests.completed);
        assert_eq!(sum(&series.host_pages), report.host_pages.read + report.host_pages.write);
        assert_eq!(sum(&series.host_pages_written), report.host_pages.write);
        assert_eq!(sum(&series.programs), report.flash.programs.total);
        assert_eq!(
            sum(&series.gc_programs),
            report.flash.programs.gc + report.flash.programs.merge
        );
        assert_eq!(sum(&series.erases), report.flash.erases.total);
        let all = report.response_ns.all.as_ref().unwrap();
        let mean = sum(series.response_sum_ns.as_ref().unwrap()) as f64 / all.count as f64;
        assert!((mean - all.mean).abs() < 1e-6 * mean);
        assert_eq!(all.histogram.iter().map(|step| step.1).sum::<u64>(), all.count);
        assert!(all.histogram.last().unwrap().0 >= all.max);
        let end = *series.end_ns.as_ref().unwrap().last().unwrap() as f64 / 1e9;
        assert!((end - report.simulated_s.unwrap()).abs() < 1e-9);
        let peak = series.backlog_max.as_ref().unwrap().iter().max().unwrap();
        assert!(*peak >= 1 && *peak <= config.host.max_outstanding);
        let hits = sum(&series.hit_pages) as f64 / sum(&series.host_pages) as f64;
        assert!((hits - report.hit_ratio.all.unwrap()).abs() < 1e-12);
        let cells: f64 = report.wear.map.mean.iter().flatten().sum();
        assert!((cells - report.flash.erases.total as f64).abs() < 1e-6, "one block a cell here");
    }
}

#[test]
fn untimed_runs_have_no_times() {
    let mut config = config();
    config.host.replay = Replay::Untimed;
    let report = run(&config, 500);
    let series: SeriesReport = report.figures.read("series").unwrap();
    assert_eq!(series.requests.iter().sum::<u64>(), 500);
    assert!(
        series.end_ns.is_none() && series.response_sum_ns.is_none() && series.backlog_max.is_none()
    );
}
