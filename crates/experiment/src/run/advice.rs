//! What a reader of the record should know of the workload: what was left out, dropped, moved or
//! made to arrive late.

use eraseblock_core::buffer::BufferConfig as Scheme;
use eraseblock_core::config::BufferSection;
use eraseblock_traces::{FitMode, FitReport, TraceIdentity};

/// A buffer into which the whole drive goes.
pub(super) fn of_buffer(buffer: &BufferSection, fit: &FitReport) -> Option<String> {
    let buffers = !matches!(buffer.scheme, Scheme::None(_));
    (buffers && buffer.size.0 >= fit.drive_bytes).then(|| {
        format!(
            "the buffer ({}) is no smaller than the drive ({} B): nothing that was written has to \
             leave it, and schemes do not differ; set buffer.size",
            buffer.size, fit.drive_bytes
        )
    })
}

/// One sentence for each thing that was done to the workload.
pub(super) fn warnings(trace: &TraceIdentity, fit: &FitReport) -> Vec<String> {
    let mode = fit.mode.name();
    let of_all = |count: u64| format!("{count} of {} requests", fit.requests);
    let mut warnings = Vec::new();
    let mut warn = |happened: bool, text: String| {
        if happened {
            warnings.push(text);
        }
    };
    warn(
        trace.bad_lines.count > 0,
        format!("of the trace, {}", trace.bad_lines.sentence().unwrap_or_default()),
    );
    warn(
        trace.moved.clamped > 0,
        format!(
            "{} requests of the trace have times before that of an earlier one, by up to {} ns; \
             they arrive together with it",
            trace.moved.clamped, trace.moved.clamped_max_ns
        ),
    );
    warn(
        trace.moved.sorted > 0,
        format!(
            "{} requests of the trace have times before that of an earlier one, by up to {} ns; \
             they were moved to their place in time",
            trace.moved.sorted, trace.moved.sorted_max_ns
        ),
    );
    warn(
        trace.left_out.zero_length > 0,
        format!(
            "{} requests of the trace have no bytes and were left out",
            trace.left_out.zero_length
        ),
    );
    warn(
        fit.beyond_drive > 0,
        format!(
            "{} reach beyond the drive and were dropped (fit = \"{mode}\")",
            of_all(fit.beyond_drive)
        ),
    );
    warn(
        fit.untouched_trims > 0,
        format!(
            "{} are trims of blocks that are never read or written, and were dropped (fit = \
             \"{mode}\")",
            of_all(fit.untouched_trims)
        ),
    );
    // Compacting keeps what lies inside a block together; the other modes can bring apart what was
    // together.
    warn(
        fit.moved > 0 && matches!(fit.mode, FitMode::Wrap | FitMode::Scale),
        format!(
            "{} have other addresses than in the trace (fit = \"{mode}\"): which of them meet in \
             one block is partly the fit's doing; fit = \"compact\" keeps blocks as they are",
            of_all(fit.moved)
        ),
    );
    warnings.extend(trace.missed.iter().map(|missed| format!("workload.generate.{missed}")));
    warnings
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use eraseblock_core::config::Bytes;
    use eraseblock_traces::{BadLines, DriveShape, GenerateConfig, LeftOut, Moved, WorkloadConfig};

    use super::*;

    fn fitted(mode: FitMode) -> (TraceIdentity, FitReport) {
        let mut config =
            WorkloadConfig::generated(GenerateConfig::sequential(100, Bytes(400 << 10)));
        config.fit = mode;
        let workload = config.prepare(Path::new(".")).unwrap();
        let drive = DriveShape { exported_bytes: 200 << 10, page_bytes: 4096, block_bytes: 8192 };
        (workload.identity().clone(), workload.fit(drive).unwrap().report().clone())
    }

    #[test]
    fn what_fitting_did_is_said() {
        let (trace, fit) = fitted(FitMode::Clip);
        assert_eq!(
            warnings(&trace, &fit),
            ["50 of 100 requests reach beyond the drive and were dropped (fit = \"clip\")"]
        );
        let (trace, fit) = fitted(FitMode::Wrap);
        let all = warnings(&trace, &fit);
        assert_eq!(all.len(), 1);
        assert!(all[0].starts_with("50 of 100 requests have other addresses"), "{}", all[0]);
    }

    #[test]
    fn a_buffer_as_large_as_the_drive_is_told() {
        let (_, fit) = fitted(FitMode::Clip);
        let buffer = |size: &str, scheme: &str| {
            let section = toml::from_str(&format!("size = '{size}'\nscheme = '{scheme}'")).unwrap();
            of_buffer(&section, &fit)
        };
        assert_eq!(buffer("196 KiB", "lru"), None);
        assert_eq!(buffer("1 GiB", "none"), None);
        let warning = buffer("200 KiB", "lru").unwrap();
        assert!(
            warning.starts_with("the buffer (200 KiB) is no smaller than the drive (204800 B)"),
            "{warning}"
        );
    }

    #[test]
    fn an_untouched_workload_needs_no_words() {
        let config = WorkloadConfig::generated(GenerateConfig::uniform(10, Bytes(1 << 16)));
        let workload = config.prepare(Path::new(".")).unwrap();
        let drive = DriveShape { exported_bytes: 1 << 16, page_bytes: 4096, block_bytes: 8192 };
        let fit = workload.fit(drive).unwrap().report().clone();
        assert_eq!(warnings(workload.identity(), &fit), Vec::<String>::new());
        let left_out = LeftOut { zero_length: 3, ..LeftOut::default() };
        let moved = Moved { clamped: 2, clamped_max_ns: 70, sorted: 5, sorted_max_ns: 80 };
        let bad_lines =
            BadLines { count: 1, first: vec!["line 7: noise".to_owned()], ..BadLines::default() };
        let missed = vec!["footprint: 1 B".to_owned()];
        let trace =
            TraceIdentity { bad_lines, moved, left_out, missed, ..workload.identity().clone() };
        let fit = FitReport { untouched_trims: 4, ..fit };
        let all = warnings(&trace, &fit);
        assert_eq!(
            all[0],
            "of the trace, 1 line or record was bad and was skipped (line 7: noise)"
        );
        assert!(all[1].starts_with("2 requests of the trace have times before"), "{}", all[1]);
        assert!(
            all[2].ends_with("by up to 80 ns; they were moved to their place in time"),
            "{}",
            all[2]
        );
        assert_eq!(all[3], "3 requests of the trace have no bytes and were left out");
        assert!(all[4].starts_with("4 of 10 requests are trims"), "{}", all[4]);
        assert_eq!(all[5], "workload.generate.footprint: 1 B");
    }
}
