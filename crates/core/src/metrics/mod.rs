//! What a run reports: counts by cause, latencies, and the laws that they must obey; and metrics,
//! which look at a run and change nothing ([`observer`]), one file each.

pub mod bounds;
pub mod counters;
pub mod erase_bounds;
pub mod figures;
pub mod flush_response;
pub mod flush_sizes;
pub mod latency;
pub mod observer;
pub mod observers;
pub mod patterns;
pub mod report;
pub mod series;
pub mod service_times;
pub mod waits;
pub mod wear;

pub use counters::Counters;
pub use figures::Figures;
pub use latency::Latency;
pub use observer::Observer;
pub use observers::Observers;
pub use report::Report;
pub use wear::Wear;

/// Part of a whole; none where there is no whole.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Declares the metrics from one line each: the module offers `ABOUT` and the type, which is an
/// [`Observer`] with `new(&Drive)`.
macro_rules! metrics {
    ($($name:literal => $type:ident in $module:ident,)*) => {
        /// A metric, by its name in configurations.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum Metric {
            $(#[serde(rename = $name)] #[allow(missing_docs, reason = "its ABOUT says it")] $type,)*
        }

        impl Metric {
            /// All metrics, in the order of the registry.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$type),*].into_iter()
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$type => $name,)* }
            }

            /// What its file says of it.
            pub fn about(self) -> &'static observer::About {
                match self { $(Self::$type => &$module::ABOUT,)* }
            }

            /// An observer that keeps it from now on.
            pub fn begin(self, drive: &observer::Drive) -> Box<dyn Observer> {
                match self { $(Self::$type => Box::new($module::$type::new(drive)),)* }
            }
        }
    };
}

metrics! {
    "flush_response" => FlushResponse in flush_response,
    "service_times" => ServiceTimes in service_times,
    "patterns" => Patterns in patterns,
    "bounds" => Bounds in bounds,
    "erase_bounds" => EraseBounds in erase_bounds,
    "flush_sizes" => FlushSizes in flush_sizes,
    "series" => Series in series,
    "waits" => Waits in waits,
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::observer::{Drive, Figure, Moment};
    use super::*;

    /// What a metric reports that has seen nothing.
    fn reported(metric: Metric) -> Figures {
        let (counters, responses) = (Counters::default(), []);
        let moment = Moment {
            now: 0,
            counters: &counters,
            before: &counters,
            responses: &responses,
            bypassed: &Latency::default(),
            worn_out: false,
        };
        let mut figures = Figures::default();
        metric.begin(&Drive::EXAMPLE).report(&moment, &mut figures);
        figures
    }

    /// All paths of a figure: `a.{b,c}` is two.
    fn paths(figure: &Figure) -> Vec<String> {
        let mut paths = vec![figure.key.to_owned()];
        for part in figure.below.split('.').skip(1) {
            let names = part.trim_start_matches('{').trim_end_matches('}');
            let mut longer = Vec::new();
            for path in &paths {
                longer.extend(names.split(',').map(|name| format!("{path}.{name}")));
            }
            paths = longer;
        }
        paths
    }

    fn leaves(path: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(table) => {
                for (key, value) in table {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    leaves(&path, value, found);
                }
            }
            _ => found.push(path.to_owned()),
        }
    }

    #[test]
    fn each_metric_reports_what_its_file_says() {
        for metric in Metric::all() {
            let (name, about) = (metric.name(), metric.about());
            assert!(about.title.len() > 2 && about.summary.len() > 10, "{name}");
            let reported = reported(metric);
            let mut found = Vec::new();
            leaves("", &serde_json::to_value(&reported).unwrap(), &mut found);
            let named: Vec<String> = about.figures.iter().flat_map(paths).collect();
            for path in &named {
                assert!(reported.at(path).is_some(), "{name} names {path}, and does not report it");
            }
            for leaf in found {
                let covers = |path: &String| {
                    leaf.strip_prefix(path)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                assert!(named.iter().any(covers), "{name} reports {leaf}, and does not name it");
            }
            assert!(about.figures.iter().all(|figure| figure.what.len() > 20), "{name}");
        }
    }

    #[test]
    fn no_two_metrics_have_a_figure_in_common() {
        let mut heads: Vec<(&str, &str)> = Metric::all()
            .flat_map(|metric| {
                let heads =
                    metric.about().figures.iter().map(|figure| figure.key.split('.').next());
                heads.map(move |head| (head.unwrap(), metric.name()))
            })
            .collect();
        heads.sort_unstable();
        heads.dedup();
        assert!(heads.windows(2).all(|pair| pair[0].0 != pair[1].0), "{heads:?}");
    }
}
