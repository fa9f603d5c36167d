//! Requests by Zipf's law.

use eraseblock_core::config::Bytes;
use eraseblock_core::support::registry::About;
use rand_pcg::Pcg64;

use super::zipf_law::ZipfLaw;
use super::{Places, pattern};
use crate::generate::random::unit;
use crate::generate::scatter::Scatter;
use crate::generate::{Generator, Given};

pub(crate) const ABOUT: About = About {
    title: "Zipf",
    summary: "Places by Zipf's law; the popular ones are scattered over the footprint by a fixed \
        permutation.",
    ..About::PLAIN
};

pattern! {
    /// Parameters of the Zipf pattern.
    {
        /// The exponent, above 0; the place of rank r is drawn with a probability proportional to 1
        /// / r^theta.
        theta: f64 = 0.99,
        /// Requests start at multiples of this. Default: `size`, or 4 KiB where sizes vary.
        align: Option<Bytes> = None,
    }
}

impl Config {
    pub(crate) fn build(&self, given: &Given) -> Result<Generator, String> {
        let shared = self.shared();
        shared.check()?;
        if !(self.theta > 0.0 && self.theta <= 10.0) {
            return Err(format!("theta: found {}, expected above 0 and at most 10", self.theta));
        }
        let align = shared.align(self.align);
        let slots = shared.slots(self.footprint.0, align)?;
        let places = Popular {
            random: shared.seed(given).random("offset"),
            ranks: ZipfLaw::new(slots, self.theta),
            scatter: Scatter::new(slots),
            align: align.0,
        };
        shared.build(given, places, align)
    }
}

struct Popular {
    random: Pcg64,
    ranks: ZipfLaw,
    scatter: Scatter,
    align: u64,
}

impl Places for Popular {
    #[inline]
    fn next_byte(&mut self, _: u64) -> u64 {
        let random = &mut self.random;
        let rank = self.ranks.draw(|| unit(random));
        self.scatter.place(rank - 1) * self.align
    }
}
