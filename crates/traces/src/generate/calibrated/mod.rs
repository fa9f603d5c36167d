//! A model that meets given statistics, as far as they leave each other room: counts, mix, sizes,
//! sequential share, footprint, span and rate.
//!
//! Operations, lengths of a list and the choice between sequential and other requests are drawn
//! without putting back, so that each comes exactly as often as its share asks for. A request that
//! is not sequential goes to new space while the space touched so far is below its share of the
//! footprint, and otherwise back to space that was touched: to a place used recently, or anywhere.
//! `space.rs` lays the footprint over the span.

mod space;
#[cfg(test)]
mod tests;

use eraseblock_core::config::{Bytes, Nanos};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::support::registry::About;
use rand_pcg::Pcg64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrivals::{Arrivals, Clock, Timing};
use super::patterns::{below as below_key, check_share, check_span};
use super::random::{Urn, below, unit};
use super::sizes::{SizeDraw, Sizes};
use super::{Generator, Given, Stream};
use space::{Layout, Recent, Shape, Touched};

pub(crate) const ABOUT: About = About {
    title: "calibrated model",
    summary: "Meets given statistics, as far as they leave each other room: counts, mix, sizes, \
        sequential share, footprint, span, rate.",
    ..About::PLAIN
};

/// Statistics that the model meets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How many requests there are.
    pub requests: u64,
    /// Share of reads, 0 to 1; the others are writes. A sequential request is of the kind of the
    /// one before it.
    pub read_share: f64,
    /// Lengths of reads.
    pub read_size: Sizes,
    /// Lengths of writes.
    pub write_size: Sizes,
    /// Share of requests that start where the one before them ended; 1 asks for as many as the
    /// pieces of the footprint have room for, and is never said to be missed.
    pub sequential_share: f64,
    /// Bytes that are read or written at all; their number grows evenly from the first request to
    /// the last.
    pub footprint: Bytes,
    /// Bytes over which the footprint is spread, from `start` on; the last of them is used.
    /// Default: `footprint`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Bytes>,
    /// First byte of the span.
    pub start: Bytes,
    /// The footprint lies in the span in pieces of about this size, which come into use in a
    /// scattered order. Default: one piece where the span is no larger than the footprint, 64
    /// pieces otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extent: Option<Bytes>,
    /// Requests to space touched before that go to no recent place start at multiples of this.
    pub align: Bytes,
    /// Number of the volume.
    pub volume: u32,
    /// Volumes over which the span is divided evenly; they follow `volume`.
    pub volumes: u32,
    /// Of the requests to space touched before that are not sequential, the share that goes to a
    /// place of a recent request; the others go anywhere in it.
    pub recent_share: f64,
    /// Recent are so many requests; one d requests back is chosen with a probability proportional
    /// to 1 / d.
    pub recent_requests: u64,
    /// Of the reads that go to a recent place, the share that goes to one written. Default: it does
    /// not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_after_write: Option<f64>,
    /// Of the writes that go to a recent place, the share that goes to one read. Default: it does
    /// not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_after_read: Option<f64>,
    /// Mean time from one request to the next; 0 lets all of them arrive at once.
    pub interval: Nanos,
    /// How the times between requests vary.
    pub arrivals: Arrivals,
    /// Seed: the same one gives the same requests on any machine.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            requests: 1_000_000,
            read_share: 0.0,
            read_size: Sizes::default(),
            write_size: Sizes::default(),
            sequential_share: 0.0,
            footprint: Bytes(1 << 30),
            span: None,
            start: Bytes(0),
            extent: None,
            align: Bytes(SECTOR),
            volume: 0,
            volumes: 1,
            recent_share: 0.5,
            recent_requests: 4096,
            read_after_write: None,
            write_after_read: None,
            interval: Nanos(0),
            arrivals: Arrivals::default(),
            seed: 1,
        }
    }
}

/// The unit of small pieces, and the default of `align`.
const SECTOR: u64 = 512;

/// Draws of a place before one that follows the last request is taken for want of others.
const TRIES: u32 = 16;

/// A statistic that is more than this share below what was asked for was missed. What rounding of
/// pieces or the last requests come to is mostly less.
const TOLERANCE: f64 = 0.02;

/// Marks of the urns.
const READ: usize = 0;
const WRITE: usize = 1;
const SEQUENTIAL: usize = 0;
const JUMP: usize = 1;

impl Config {
    pub(crate) fn build(&self, given: &Given) -> Result<Generator, String> {
        self.check()?;
        let requests = given.requests.unwrap_or(self.requests);
        let seed = given.seed.with_number(self.seed);
        let timing = Timing::new(self.interval.0, requests, &seed);
        let clock =
            self.arrivals.build(&timing).map_err(|problem| below_key("arrivals", &problem))?;
        let ops = Urn::divided(requests, &[self.read_share, 1.0 - self.read_share]);
        let of = |mark| ops.left(mark);
        let sizes = [
            SizeDraw::exact(&self.read_size, of(READ), seed.random("read size")),
            SizeDraw::exact(&self.write_size, of(WRITE), seed.random("write size")),
        ];
        let layout = self.layout()?;
        let ways = Urn::divided(requests, &[self.sequential_share, 1.0 - self.sequential_share]);
        // Where all are to follow another, each that can does; the first has none to follow.
        let sequential_wanted = if self.sequential_share < 1.0 {
            ways.left(SEQUENTIAL).min(requests.saturating_sub(1))
        } else {
            0
        };
        let model = Model {
            left: requests,
            made: 0,
            full: self.requests,
            footprint: self.footprint.0,
            sequential_wanted,
            sequential: 0,
            ways,
            ops,
            sizes,
            touched: Touched::new(&layout),
            layout,
            last: None,
            align: self.align.0,
            recent_share: self.recent_share,
            recent: [Recent::new(self.recent_requests), Recent::new(self.recent_requests)],
            crossing: [self.read_after_write, self.write_after_read],
            way: seed.random("way"),
            op: seed.random("operation"),
            place: seed.random("offset"),
            clock,
        };
        Ok(Generator::of_stream(requests, model))
    }

    fn check(&self) -> Result<(), String> {
        if self.requests == 0 {
            return Err("requests: found 0, expected at least 1".to_owned());
        }
        for (key, share) in [
            ("read_share", Some(self.read_share)),
            ("sequential_share", Some(self.sequential_share)),
            ("recent_share", Some(self.recent_share)),
            ("read_after_write", self.read_after_write),
            ("write_after_read", self.write_after_read),
        ] {
            check_share(key, share.unwrap_or(0.0))?;
        }
        for (key, sizes) in [("read_size", &self.read_size), ("write_size", &self.write_size)] {
            sizes.check().map_err(|problem| below_key(key, &problem))?;
        }
        if self.align.0 == 0 {
            return Err("align: found 0 B, expected at least 1 B".to_owned());
        }
        if !(1..=1 << 24).contains(&self.recent_requests) {
            return Err(format!(
                "recent_requests: found {}, expected 1 to {}",
                self.recent_requests,
                1 << 24
            ));
        }
        check_span(self.requests, self.interval)
    }

    fn longest(&self) -> u64 {
        let read = if self.read_share > 0.0 { self.read_size.max() } else { 0 };
        let write = if self.read_share < 1.0 { self.write_size.max() } else { 0 };
        read.max(write)
    }

    fn layout(&self) -> Result<Layout, String> {
        let longest = self.longest();
        if self.footprint.0 < longest {
            let longest = Bytes(longest);
            return Err(format!(
                "footprint: found {}, expected at least one request of {longest}",
                self.footprint
            ));
        }
        let span = self.span.unwrap_or(self.footprint);
        if span < self.footprint {
            return Err(format!(
                "span: found {span}, expected at least the footprint of {}",
                self.footprint
            ));
        }
        if span.0 > 1 << 60 || self.start.0 > 1 << 60 {
            return Err(format!(
                "span: found {span} from {} on, expected at most 2^60 B",
                self.start
            ));
        }
        if self.volumes == 0 || self.volumes > 4096 || self.volume > u32::MAX - 4096 {
            return Err(format!("volumes: found {}, expected 1 to 4096", self.volumes));
        }
        let extent = self.extent.map_or(0, |extent| extent.0);
        if self.extent.is_some() && extent < longest {
            return Err(format!(
                "extent: found {}, expected at least one request of {}",
                Bytes(extent),
                Bytes(longest)
            ));
        }
        Layout::new(Shape {
            footprint: self.footprint.0,
            span: span.0,
            extent,
            longest,
            volumes: self.volumes,
            first_volume: self.volume,
            start: self.start.0,
        })
    }
}

/// The calibrated model.
struct Model {
    left: u64,
    made: u64,
    /// Requests over which the footprint grows to its full size.
    full: u64,
    /// The footprint asked for; that of the layout may be smaller.
    footprint: u64,
    /// Sequential requests that were asked for, and those made.
    sequential_wanted: u64,
    sequential: u64,
    ways: Urn,
    ops: Urn,
    sizes: [SizeDraw; 2],
    layout: Layout,
    touched: Touched,
    last: Option<Last>,
    align: u64,
    recent_share: f64,
    /// Places of recent reads and writes.
    recent: [Recent; 2],
    crossing: [Option<f64>; 2],
    way: Pcg64,
    op: Pcg64,
    place: Pcg64,
    clock: Clock,
}

#[derive(Clone, Copy)]
struct Last {
    end: u64,
    mark: usize,
}

impl Iterator for Model {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let (mark, place, len) = self.draw();
        self.made += 1;
        self.touched.add(place, len);
        self.last = Some(Last { end: place + len, mark });
        self.recent[mark].add(place);
        let (volume, offset) = self.layout.address(place);
        let op = if mark == READ { Op::Read } else { Op::Write };
        Some(Request { arrival_ns: self.clock.next_ns(), offset, len, volume, op, fua: false })
    }
}

impl Stream for Model {
    fn missed(&self) -> Vec<String> {
        [self.missed_sequential(), self.missed_footprint()].into_iter().flatten().collect()
    }
}

impl Model {
    /// The part of a footprint that so many requests should have touched.
    fn due(&self, footprint: u64, requests: u64) -> f64 {
        footprint as f64 * (requests as f64 / self.full as f64).min(1.0)
    }

    fn missed_sequential(&self) -> Option<String> {
        let (got, wanted) = (self.sequential, self.sequential_wanted);
        (wanted.saturating_sub(got) as f64 > (TOLERANCE * wanted as f64).max(1.0)).then(|| {
            format!(
                "sequential_share: {got} of {} requests start where the one before them ended, \
                 and {wanted} were asked for: too few in a row fit into the footprint or its \
                 pieces; give a larger `footprint` or `extent`, or a smaller share",
                self.made
            )
        })
    }

    fn missed_footprint(&self) -> Option<String> {
        let (got, due) = (self.touched.total(), self.due(self.footprint, self.made));
        if due - got as f64 <= TOLERANCE * due {
            return None;
        }
        let (asked, held) = (Bytes(self.footprint), Bytes(self.layout.footprint()));
        let by_now = if self.made < self.full {
            format!(", {} of it by request {}", Bytes(due as u64), self.made)
        } else {
            String::new()
        };
        let in_reach = self.due(held.0, self.made);
        let why = if in_reach - got as f64 > TOLERANCE * in_reach {
            "give a smaller `footprint`, more or longer requests, or a smaller `sequential_share`"
                .to_owned()
        } else {
            format!(
                "its pieces are rounded down to whole sectors and pages, and hold {held}; give \
                 another `footprint`, `extent`, `span` or number of `volumes`"
            )
        };
        let got = Bytes(got);
        Some(format!(
            "footprint: {got} were read or written, and {asked} were asked for{by_now}: {why}"
        ))
    }

    /// The kind, the place within the footprint and the length of the next request.
    fn draw(&mut self) -> (usize, u64, u64) {
        if let Some(last) = self.last
            && self.ways.draw(&mut self.way) == Some(SEQUENTIAL)
        {
            let mark = if self.ops.take(last.mark) { last.mark } else { 1 - last.mark };
            if mark != last.mark {
                self.ops.take(mark);
            }
            let len = self.sizes[mark].next_len();
            if self.layout.follows(Some(last.end), last.end) && self.layout.holds(last.end, len) {
                self.sequential += 1;
                return (mark, last.end, len);
            }
            // At the end of a piece no request can follow; another one will.
            if self.ways.take(JUMP) {
                self.ways.put_back(SEQUENTIAL);
            }
            return (mark, self.jump(mark, len), len);
        }
        if self.last.is_none() && !self.ways.take(JUMP) {
            self.ways.take(SEQUENTIAL);
        }
        let mark = self.ops.draw(&mut self.op).unwrap_or(WRITE);
        let len = self.sizes[mark].next_len();
        (mark, self.jump(mark, len), len)
    }

    /// A place that does not follow the last request.
    fn jump(&mut self, mark: usize, len: u64) -> u64 {
        let last = self.last.map(|last| last.end);
        if (self.touched.total() as f64) < self.due(self.layout.footprint(), self.made + 1)
            && let Some(place) = self.touched.draw_new(&self.layout, last, &mut self.place)
        {
            return self.layout.fit(place, len);
        }
        for _ in 0..TRIES {
            let recent = unit(&mut self.place) < self.recent_share;
            let place = if recent { self.recent_place(mark) } else { None };
            let place = place.or_else(|| self.touched.draw_old(self.align, &mut self.place));
            let place = self.layout.fit(place.unwrap_or(0), len);
            if !self.layout.follows(last, place) {
                return place;
            }
        }
        // Hardly anything has been touched; new space is not behind the last request either.
        self.touched
            .draw_new(&self.layout, last, &mut self.place)
            .map_or(0, |place| self.layout.fit(place, len))
    }

    fn recent_place(&mut self, mark: usize) -> Option<u64> {
        let of = match self.crossing[mark] {
            Some(share) if unit(&mut self.place) < share => 1 - mark,
            Some(_) => mark,
            None => {
                let (own, other) = (self.recent[mark].len(), self.recent[1 - mark].len());
                if below(&mut self.place, (own + other).max(1)) < own { mark } else { 1 - mark }
            }
        };
        self.recent[of].draw(&mut self.place)
    }
}
