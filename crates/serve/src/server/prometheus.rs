//! How a drive stands, as Prometheus reads it (text format 0.0.4).

use std::fmt::Write as _;

use eraseblock_core::metrics::report::FlashWork;

use super::desk::Standing;
use crate::drive::Times;

/// Steps of the histograms of times: 2^n - 1 ns, where those of the drive's own histogram end, so
/// that the counts are exact.
const STEPS: std::ops::RangeInclusive<u32> = 10..=34;

/// The text.
pub fn text(standing: &Standing) -> String {
    let mut page = Page(String::new());
    let Standing { drive, clients, under_way, held_bytes, lateness } = standing;
    let (requests, pages, flash) = (&drive.requests, &drive.pages, &drive.flash);

    page.family("requests_total", "counter", "Requests that have come.");
    let come = [
        ("read", requests.read),
        ("write", requests.write),
        ("trim", requests.trim),
        ("flush", requests.flush),
    ];
    page.each("requests_total", "op", &come);
    page.one("requests_completed_total", "counter", "Requests answered.", requests.completed);
    page.one(
        "requested_bytes_total",
        "counter",
        "Bytes that reads and writes asked for.",
        requests.bytes,
    );
    page.one("requests_under_way", "gauge", "Requests taken and not answered.", under_way);
    page.family(
        "response_seconds",
        "histogram",
        "Response times of the simulated drive, on its own clock; other: trims and flushes.",
    );
    let times = &drive.response;
    for (op, times) in [("read", &times.read), ("write", &times.write), ("other", &times.other)] {
        page.histogram("response_seconds", &format!("op=\"{op}\""), times.as_ref());
    }
    if let Some(lateness) = lateness {
        let what = "By how much answers came after their time (--pace), on the wall's clock.";
        page.family("lateness_seconds", "histogram", what);
        page.histogram("lateness_seconds", "", Some(lateness));
    }

    page.family("host_pages_total", "counter", "Pages of requests.");
    let of_host = [("read", pages.read), ("write", pages.write), ("trim", pages.trim)];
    page.each("host_pages_total", "op", &of_host);
    page.family("buffer_hits_total", "counter", "Pages of requests that were in the buffer.");
    page.each("buffer_hits_total", "op", &[("read", pages.read_hits), ("write", pages.write_hits)]);
    page.one("buffer_pages", "gauge", "Pages in the buffer.", drive.buffer.pages);
    page.one(
        "buffer_capacity_pages",
        "gauge",
        "Pages that the buffer may hold.",
        drive.buffer.capacity,
    );
    page.one(
        "unstored_pages",
        "gauge",
        "Logical pages whose newest bytes are in RAM alone.",
        drive.buffer.unstored,
    );

    page.family("flash_read_pages_total", "counter", "Pages read from flash, by cause.");
    page.causes("flash_read_pages_total", &flash.reads);
    page.family("flash_programmed_pages_total", "counter", "Pages programmed, by cause.");
    page.causes("flash_programmed_pages_total", &flash.programs);
    page.family("flash_erased_blocks_total", "counter", "Blocks erased, by cause.");
    page.causes("flash_erased_blocks_total", &flash.erases);
    if pages.write > 0 {
        page.one(
            "write_amplification",
            "gauge",
            "Pages programmed for each page that clients wrote, since the drive was opened.",
            flash.programs.total as f64 / pages.write as f64,
        );
    }
    page.family("merges_total", "counter", "Merges of log blocks.");
    let merges = &flash.merges;
    page.each(
        "merges_total",
        "kind",
        &[("switch", merges.switch), ("partial", merges.partial), ("full", merges.full)],
    );
    page.one(
        "parked_writes_total",
        "counter",
        "Writes to flash that had to wait for an erased block.",
        flash.parked,
    );

    let blocks = &drive.blocks;
    page.one("blocks", "gauge", "Erase blocks of the flash.", blocks.count);
    page.one("free_blocks", "gauge", "Erased blocks that the FTL has at hand.", blocks.free);
    let valid: u64 = blocks.valid_pages.iter().map(|&pages| u64::from(pages)).sum();
    page.one("valid_pages", "gauge", "Flash pages that hold what counts.", valid);
    page.one(
        "block_erases_total",
        "counter",
        "Erases of all blocks over the drive's life.",
        blocks.erases,
    );
    let most = blocks.most_erases.iter().max().copied().unwrap_or(0);
    page.one("block_erases_max", "gauge", "Erases of the block that has most.", most);

    page.one("clients", "gauge", "Connections that are open.", clients);
    page.one(
        "held_bytes",
        "gauge",
        "Bytes under way: of answers, of reads, and of what has come and was not taken.",
        held_bytes,
    );
    let seconds = drive.time_ns as f64 / 1e9;
    page.one("drive_time_seconds", "gauge", "The simulated drive's own time.", seconds);
    page.one(
        "failed",
        "gauge",
        "1: the drive has failed, and can only be read.",
        u8::from(drive.failed.is_some()),
    );
    page.0
}

struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, what: &str) {
        _ = writeln!(self.0, "# HELP eraseblock_{name} {what}\n# TYPE eraseblock_{name} {kind}");
    }

    fn one(&mut self, name: &str, kind: &str, what: &str, value: impl std::fmt::Display) {
        self.family(name, kind, what);
        _ = writeln!(self.0, "eraseblock_{name} {value}");
    }

    fn each(&mut self, name: &str, label: &str, values: &[(&str, u64)]) {
        for (of, value) in values {
            _ = writeln!(self.0, "eraseblock_{name}{{{label}=\"{of}\"}} {value}");
        }
    }

    fn causes(&mut self, name: &str, work: &FlashWork) {
        let FlashWork { host, padding, gc, merge, mapping, wear, filler, placement, total: _ } =
            *work;
        let causes = [
            ("host", host),
            ("padding", padding),
            ("gc", gc),
            ("merge", merge),
            ("mapping", mapping),
            ("wear", wear),
            ("filler", filler),
            ("placement", placement),
        ];
        self.each(name, "cause", &causes);
    }

    fn histogram(&mut self, name: &str, label: &str, times: Option<&Times>) {
        let none = Times { count: 0, sum_ns: 0, max_ns: 0, histogram: Vec::new() };
        let times = times.unwrap_or(&none);
        let (comma, braces) =
            if label.is_empty() { ("", String::new()) } else { (",", format!("{{{label}}}")) };
        let (mut below, mut at) = (0, 0);
        for step in STEPS {
            let end = (1 << step) - 1;
            while let Some(&(_, count)) = times.histogram.get(at).filter(|(ns, _)| *ns <= end) {
                (below, at) = (below + count, at + 1);
            }
            let le = end as f64 / 1e9;
            _ = writeln!(self.0, "eraseblock_{name}_bucket{{{label}{comma}le=\"{le}\"}} {below}");
        }
        let Times { count, sum_ns, .. } = times;
        _ = writeln!(self.0, "eraseblock_{name}_bucket{{{label}{comma}le=\"+Inf\"}} {count}");
        _ = writeln!(self.0, "eraseblock_{name}_sum{braces} {}", *sum_ns as f64 / 1e9);
        _ = writeln!(self.0, "eraseblock_{name}_count{braces} {count}");
    }
}
