//! Requests anywhere, with equal probability.

use eraseblock_core::config::Bytes;
use eraseblock_core::support::registry::About;
use rand::distr::{Distribution, Uniform};
use rand_pcg::Pcg64;

use super::{Places, pattern};
use crate::generate::{Generator, Given};

pub(crate) const ABOUT: About = About {
    title: "uniform",
    summary: "Requests anywhere in the footprint, with equal probability.",
    ..About::PLAIN
};

pattern! {
    /// Parameters of the uniform pattern.
    {
        /// Requests start at multiples of this. Default: `size`, or 4 KiB where sizes vary.
        align: Option<Bytes> = None,
    }
}

impl Config {
    pub(crate) fn build(&self, given: &Given) -> Result<Generator, String> {
        let shared = self.shared();
        shared.check()?;
        let align = shared.align(self.align);
        let slots =
            Uniform::new(0, shared.slots(self.footprint.0, align)?).expect("there is a slot");
        shared.build(
            given,
            Anywhere { random: shared.seed(given).random("offset"), slots, align: align.0 },
            align,
        )
    }
}

struct Anywhere {
    random: Pcg64,
    slots: Uniform<u64>,
    align: u64,
}

impl Places for Anywhere {
    #[inline]
    fn next_byte(&mut self, _: u64) -> u64 {
        self.slots.sample(&mut self.random) * self.align
    }
}
