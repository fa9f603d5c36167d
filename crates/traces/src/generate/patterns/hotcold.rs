//! A few hot places and many cold ones.

use eraseblock_core::config::Bytes;
use eraseblock_core::support::registry::About;
use rand_pcg::Pcg64;

use super::{Places, check_share, pattern};
use crate::generate::random::{below, unit};
use crate::generate::scatter::Scatter;
use crate::generate::{Generator, Given};

pub(crate) const ABOUT: About = About {
    title: "hot and cold",
    summary: "A share of the requests goes to a share of the footprint, another to a warm part, \
        the rest to what is left.",
    ..About::PLAIN
};

pattern! {
    /// Parameters of the hot-and-cold pattern.
    {
        /// Share of requests that go to the hot part, the first of the footprint.
        hot_accesses: f64 = 0.8,
        /// Share of the footprint that is hot.
        hot_space: f64 = 0.2,
        /// Share of requests that go to the warm part, which lies behind the hot one.
        warm_accesses: f64 = 0.0,
        /// Share of the footprint that is warm.
        warm_space: f64 = 0.0,
        /// Scatter the places of all parts over the footprint by a fixed permutation.
        scatter: bool = false,
        /// Requests start at multiples of this. Default: `size`, or 4 KiB where sizes vary.
        align: Option<Bytes> = None,
    }
}

impl Config {
    pub(crate) fn build(&self, given: &Given) -> Result<Generator, String> {
        let shared = self.shared();
        shared.check()?;
        let shares = [
            ("hot_accesses", self.hot_accesses),
            ("hot_space", self.hot_space),
            ("warm_accesses", self.warm_accesses),
            ("warm_space", self.warm_space),
        ];
        for (key, share) in shares {
            check_share(key, share)?;
        }
        for (key, hot, warm) in [
            ("warm_accesses", self.hot_accesses, self.warm_accesses),
            ("warm_space", self.hot_space, self.warm_space),
        ] {
            if hot + warm > 1.0 + 1e-12 {
                return Err(format!(
                    "{key}: found {warm} beside a hot share of {hot}, together above 1"
                ));
            }
        }
        let align = shared.align(self.align);
        let slots = shared.slots(self.footprint.0, align)?;
        let hot = (self.hot_space * slots as f64) as u64;
        let warm = ((self.hot_space + self.warm_space) * slots as f64) as u64;
        let parts = [(0, hot), (hot, warm.min(slots)), (warm.min(slots), slots)];
        let accesses =
            [self.hot_accesses, self.warm_accesses, 1.0 - self.hot_accesses - self.warm_accesses];
        let names = ["hot_space", "warm_space", "hot_space"];
        for ((name, (start, end)), accesses) in names.into_iter().zip(parts).zip(accesses) {
            if accesses > 1e-12 && start == end {
                return Err(format!(
                    "{name}: leaves no place for {accesses:.3} of the requests, among {slots} in \
                     the footprint"
                ));
            }
        }
        let places = HotAndCold {
            random: shared.seed(given).random("offset"),
            parts,
            hot: self.hot_accesses,
            warm: self.hot_accesses + self.warm_accesses,
            scatter: self.scatter.then(|| Scatter::new(slots)),
            align: align.0,
        };
        shared.build(given, places, align)
    }
}

struct HotAndCold {
    random: Pcg64,
    /// First slot of each part, and the one behind its last.
    parts: [(u64, u64); 3],
    /// Numbers below this go to the hot part,
    hot: f64,
    /// below this to the hot or the warm one.
    warm: f64,
    scatter: Option<Scatter>,
    align: u64,
}

impl Places for HotAndCold {
    #[inline]
    fn next_byte(&mut self, _: u64) -> u64 {
        let at = unit(&mut self.random);
        let mut part = usize::from(at >= self.hot) + usize::from(at >= self.warm);
        // Rounding may leave a part without places a request in 2^53.
        while self.parts[part].0 == self.parts[part].1 {
            part = (part + 2) % 3;
        }
        let (start, end) = self.parts[part];
        let slot = start + below(&mut self.random, end - start);
        self.scatter.as_ref().map_or(slot, |scatter| scatter.place(slot)) * self.align
    }
}
