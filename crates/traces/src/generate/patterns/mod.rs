//! Patterns: requests whose places follow one rule, and whose lengths, operations and times are
//! drawn apart from it.

pub mod hotcold;
pub mod sequential;
pub mod uniform;
pub mod zipf;
mod zipf_law;

use eraseblock_core::config::{Bytes, Nanos};
use eraseblock_core::host::{Op, Request};
use rand::Rng;
use rand_pcg::Pcg64;

use super::arrivals::{Arrivals, Clock, Timing};
use super::random::Seed;
use super::sizes::{SizeDraw, Sizes};
use super::{Generator, Given};

/// Declares a pattern's `Config`: the keys given here and those that all patterns share.
macro_rules! pattern {
    ($(#[$meta:meta])* { $($(#[$field_meta:meta])* $field:ident: $type:ty = $default:expr,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Config {
            /// How many requests there are.
            pub requests: u64,
            /// They lie in so many bytes from `start` on.
            pub footprint: eraseblock_core::config::Bytes,
            $($(#[$field_meta])* pub $field: $type,)*
            /// First byte of the footprint.
            pub start: eraseblock_core::config::Bytes,
            /// Length of each request, a table of sizes and weights, or a distribution.
            pub size: $crate::generate::sizes::Sizes,
            /// Share of reads, 0 to 1; what is neither read, trim nor flush is a write.
            pub read_share: f64,
            /// Share of trims, 0 to 1.
            pub trim_share: f64,
            /// Share of flushes, 0 to 1; a flush takes no place.
            pub flush_share: f64,
            /// Mean time from one request to the next; 0 lets all of them arrive at once.
            pub interval: eraseblock_core::config::Nanos,
            /// How the times between requests vary.
            pub arrivals: $crate::generate::arrivals::Arrivals,
            /// Seed: the same one gives the same requests on any machine. Offsets, sizes,
            /// operations and times draw apart from one another, so that changing one leaves the
            /// others as they were.
            pub seed: u64,
        }

        impl Default for Config {
            fn default() -> Self {
                Self {
                    requests: 1_000_000,
                    footprint: eraseblock_core::config::Bytes(1 << 30),
                    $($field: $default,)*
                    start: eraseblock_core::config::Bytes(0),
                    size: $crate::generate::sizes::Sizes::default(),
                    read_share: 0.0,
                    trim_share: 0.0,
                    flush_share: 0.0,
                    interval: eraseblock_core::config::Nanos(0),
                    arrivals: $crate::generate::arrivals::Arrivals::default(),
                    seed: 1,
                }
            }
        }

        impl Config {
            fn shared(&self) -> $crate::generate::patterns::Shared<'_> {
                $crate::generate::patterns::Shared {
                    requests: self.requests,
                    footprint: self.footprint,
                    start: self.start,
                    size: &self.size,
                    shares: [self.read_share, self.trim_share, self.flush_share],
                    interval: self.interval,
                    arrivals: &self.arrivals,
                    seed: self.seed,
                }
            }
        }
    };
}
pub(crate) use pattern;

/// The keys that all patterns share.
pub(crate) struct Shared<'c> {
    pub requests: u64,
    pub footprint: Bytes,
    pub start: Bytes,
    pub size: &'c Sizes,
    /// Shares of reads, trims and flushes.
    pub shares: [f64; 3],
    pub interval: Nanos,
    pub arrivals: &'c Arrivals,
    pub seed: u64,
}

/// More slots than this would not be drawn evenly by 53-bit arithmetic.
const MAX_SLOTS: u64 = 1 << 48;

/// A longer part of the footprint is not left out at its end.
const MUCH: u64 = 64;

impl Shared<'_> {
    pub fn check(&self) -> Result<(), String> {
        if self.requests == 0 {
            return Err("requests: found 0, expected at least 1".to_owned());
        }
        self.size.check().map_err(|problem| below("size", &problem))?;
        if self.footprint.0 < self.size.max() {
            let longest = Bytes(self.size.max());
            return Err(format!(
                "footprint: found {}, expected at least one request of {longest}",
                self.footprint
            ));
        }
        if self.footprint.0 > 1 << 60 || self.start.0 > 1 << 60 {
            let (key, found) = if self.start.0 > 1 << 60 {
                ("start", self.start)
            } else {
                ("footprint", self.footprint)
            };
            return Err(format!("{key}: found {found}, expected at most 2^60 B"));
        }
        for (key, share) in ["read_share", "trim_share", "flush_share"].into_iter().zip(self.shares)
        {
            check_share(key, share)?;
        }
        let sum: f64 = self.shares.iter().sum();
        if sum > 1.0 + 1e-12 {
            return Err(format!(
                "read_share: found {sum} together with trim_share and flush_share, expected at \
                 most 1"
            ));
        }
        check_span(self.requests, self.interval)
    }

    /// Places that start at multiples of `align` in the first `footprint` bytes: for the longest
    /// request, or, where that would leave too much of the footprint out, for the shortest.
    pub fn slots(&self, footprint: u64, align: Bytes) -> Result<u64, String> {
        if align.0 == 0 {
            return Err("align: found 0 B, expected at least 1 B".to_owned());
        }
        let (shortest, longest) = self.size.ends();
        let room = if longest > footprint / MUCH { shortest } else { longest };
        let slots = (footprint - room) / align.0 + 1;
        if slots > MAX_SLOTS {
            return Err(format!(
                "footprint: found {}, expected at most 2^48 places for a request",
                self.footprint
            ));
        }
        Ok(slots)
    }

    /// Multiples of this are where requests of random patterns start, if nothing else is said.
    pub fn align(&self, align: Option<Bytes>) -> Bytes {
        align.unwrap_or(match self.size {
            Sizes::Fixed(size) => *size,
            _ => Bytes(4096),
        })
    }

    /// Where the random numbers come from.
    pub fn seed(&self, given: &Given) -> Seed {
        given.seed.with_number(self.seed)
    }

    /// The requests, at the places that `places` gives: multiples of `align`.
    pub fn build(
        &self,
        given: &Given,
        places: impl Places + 'static,
        align: Bytes,
    ) -> Result<Generator, String> {
        let seed = self.seed(given);
        let requests = given.requests.unwrap_or(self.requests);
        let timing = Timing::new(self.interval.0, requests, &seed);
        let clock = self.arrivals.build(&timing).map_err(|problem| below("arrivals", &problem))?;
        let stream = Stream {
            left: requests,
            start: self.start.0,
            end: self.footprint.0,
            align: align.0,
            sizes: SizeDraw::new(self.size, seed.random("size")),
            places,
            ops: Ops::new(self.shares, &seed),
            clock,
        };
        Ok(Generator::new(requests, stream))
    }
}

/// `key.inner: problem` for a problem of a key's value that may name an inner key itself.
pub(crate) fn below(key: &str, problem: &str) -> String {
    match problem.split_once(": ") {
        Some((inner, rest))
            if inner.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)) =>
        {
            format!("{key}.{inner}: {rest}")
        }
        _ => format!("{key}: {problem}"),
    }
}

/// A share lies between 0 and 1.
pub(crate) fn check_share(key: &str, share: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&share) {
        Ok(())
    } else {
        Err(format!("{key}: found {share}, expected 0 to 1"))
    }
}

/// Times stay far from the end of what 64 bits hold.
pub(crate) fn check_span(requests: u64, interval: Nanos) -> Result<(), String> {
    if u128::from(requests) * u128::from(interval.0) > i64::MAX as u128 / 4 {
        return Err(format!("interval: {requests} requests {interval} apart last over 70 years"));
    }
    Ok(())
}

/// Where requests start.
pub(crate) trait Places: Send {
    /// First byte, from the start of the footprint, of a request of `len` bytes.
    fn next_byte(&mut self, len: u64) -> u64;
}

/// The requests of a pattern.
struct Stream<P> {
    left: u64,
    start: u64,
    /// Bytes of the footprint: a request that would go on beyond them begins before its place.
    end: u64,
    align: u64,
    sizes: SizeDraw,
    places: P,
    ops: Ops,
    clock: Clock,
}

impl<P: Places> Iterator for Stream<P> {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let arrival_ns = self.clock.next_ns();
        let op = self.ops.next_op();
        if op == Op::Flush {
            return Some(Request { arrival_ns, offset: 0, len: 0, volume: 0, op, fua: false });
        }
        let len = self.sizes.next_len();
        let mut place = self.places.next_byte(len);
        if place + len > self.end {
            place = (self.end - len) / self.align * self.align;
        }
        let offset = self.start + place;
        Some(Request { arrival_ns, offset, len, volume: 0, op, fua: false })
    }
}

/// Draws operations.
enum Ops {
    Always(Op),
    Mixed {
        random: Pcg64,
        /// Numbers below the first are reads, below the second trims, below the third flushes.
        below: [u64; 3],
    },
}

impl Ops {
    fn new([read, trim, flush]: [f64; 3], seed: &Seed) -> Self {
        if read >= 1.0 {
            return Self::Always(Op::Read);
        }
        if read + trim + flush <= 0.0 {
            return Self::Always(Op::Write);
        }
        // A product with a power of two is exact; the cast saturates.
        let below =
            [read, read + trim, read + trim + flush].map(|sum| (sum * 2.0_f64.powi(64)) as u64);
        Self::Mixed { random: seed.random("operation"), below }
    }

    #[inline]
    fn next_op(&mut self) -> Op {
        match self {
            Self::Always(op) => *op,
            Self::Mixed { random, below } => {
                let number = random.next_u64();
                if number < below[0] {
                    Op::Read
                } else if number < below[1] {
                    Op::Trim
                } else if number < below[2] {
                    Op::Flush
                } else {
                    Op::Write
                }
            }
        }
    }
}
