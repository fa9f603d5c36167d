//! The accounts of a run: every request has one fate, and the drive's own count agrees.

use eraseblock_traces::{FitReport, TraceIdentity};
use serde_json::{Map, Value as Json};

use super::RunError;

/// Checks that what was read, left out, dropped, split, submitted and completed adds up.
pub(super) fn check(
    trace: &TraceIdentity,
    fit: &FitReport,
    submitted: u64,
    figures: &Map<String, Json>,
) -> Result<(), RunError> {
    let count = |of, key| figures.get(of).and_then(|counts| counts.get(key)).and_then(Json::as_u64);
    let warm_up = count("warm_up", "requests").unwrap_or(0);
    let reported = |key| count("requests", key).map(|requests| requests + warm_up);
    // A drive that is worn out takes no more requests.
    let end_of_life = figures.get("end_of_life").filter(|end| !end.is_null());
    let unanswered = end_of_life.and_then(|end| end["unanswered"].as_u64()).unwrap_or(0);
    let never = end_of_life.map_or(0, |_| fit.submitted - submitted);
    let dropped = fit.beyond_drive + fit.untouched_trims;
    let laws = [
        (
            "requests in the trace = replayed + left out",
            Some(trace.requests_in_trace),
            Some(trace.requests + trace.left_out.total()),
        ),
        (
            "requests replayed = requests fitted to the drive",
            Some(trace.requests),
            Some(fit.requests),
        ),
        (
            "requests fitted + extra pieces = dropped + to be submitted",
            Some(fit.requests + fit.extra_pieces),
            Some(dropped + fit.submitted),
        ),
        ("requests to be submitted = submitted", Some(fit.submitted), Some(submitted + never)),
        ("submitted = submitted, as the drive counts", Some(submitted), reported("submitted")),
        (
            "submitted = completed + unanswered",
            Some(submitted),
            reported("completed").map(|n| n + unanswered),
        ),
    ];
    for (law, left, right) in laws {
        if left != right {
            let number = |side: Option<u64>| {
                side.map_or_else(|| "nothing".to_owned(), |count| count.to_string())
            };
            return Err(RunError::Law(format!("{law}: {} and {}", number(left), number(right))));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use eraseblock_core::config::Bytes;
    use eraseblock_traces::{DriveShape, FitMode, GenerateConfig, WorkloadConfig};
    use serde_json::json;

    use super::*;

    fn accounts() -> (TraceIdentity, FitReport) {
        let mut config = WorkloadConfig::generated(GenerateConfig::uniform(100, Bytes(1 << 20)));
        config.first = Some(60);
        config.fit = FitMode::Clip;
        let workload = config.prepare(std::path::Path::new(".")).unwrap();
        let drive = DriveShape { exported_bytes: 1 << 19, page_bytes: 4096, block_bytes: 1 << 16 };
        let fit = workload.fit(drive).unwrap().report().clone();
        assert!(fit.beyond_drive > 0 && fit.submitted > 0);
        (workload.identity().clone(), fit)
    }

    fn drive(submitted: u64, completed: u64) -> Map<String, Json> {
        Map::from_iter([(
            "requests".to_owned(),
            json!({"submitted": submitted, "completed": completed}),
        )])
    }

    #[test]
    fn accounts_that_add_up_pass() {
        let (trace, fit) = accounts();
        check(&trace, &fit, fit.submitted, &drive(fit.submitted, fit.submitted)).unwrap();
    }

    #[test]
    fn each_lost_request_is_found() {
        let (trace, fit) = accounts();
        let count = fit.submitted;
        let law =
            |trace: &TraceIdentity, fit: &FitReport, submitted, figures: &Map<String, Json>| {
                let error = check(trace, fit, submitted, figures).unwrap_err();
                assert!(!error.is_input());
                error.to_string()
            };
        let good = drive(count, count);
        let lost = TraceIdentity { requests_in_trace: 101, ..trace.clone() };
        assert!(law(&lost, &fit, count, &good).ends_with("replayed + left out: 101 and 100"));
        let lost = FitReport { requests: 59, ..fit.clone() };
        assert!(law(&trace, &lost, count, &good).ends_with("fitted to the drive: 60 and 59"));
        let lost = FitReport { beyond_drive: fit.beyond_drive - 1, ..fit.clone() };
        assert!(law(&trace, &lost, count, &good).ends_with("to be submitted: 60 and 59"));
        let text = law(&trace, &fit, count - 1, &good);
        assert!(text.contains("to be submitted = submitted: "), "{text}");
        let text = law(&trace, &fit, count, &drive(count + 1, count));
        assert!(text.contains("as the drive counts"), "{text}");
        let text = law(&trace, &fit, count, &drive(count, count - 1));
        assert!(text.contains("submitted = completed"), "{text}");
        let text = law(&trace, &fit, count, &Map::new());
        assert!(text.ends_with("and nothing"), "{text}");
    }
}
