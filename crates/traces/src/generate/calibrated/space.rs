//! Where the footprint lies in the span, how much of it has been touched, and where recent requests
//! went.

use rand_pcg::Pcg64;

use super::SECTOR;
use crate::generate::random::{below, unit};
use crate::generate::scatter::Scatter;

/// The footprint in pieces of equal size, which lie evenly over the span in a scattered order.
#[derive(Debug)]
pub(super) struct Layout {
    piece: u64,
    pieces: u64,
    /// From the start of one piece to that of the next, on one volume.
    stride: u64,
    /// Bytes of the span on each volume.
    volume_span: u64,
    pieces_per_volume: u64,
    first_volume: u32,
    start: u64,
    /// Absent where the footprint fills the span.
    scatter: Option<Scatter>,
    /// Brings the last piece of the span to the front, so that the span is used to its end early.
    turn: u64,
}

/// What a layout is made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Bytes that are touched.
    pub footprint: u64,
    /// Bytes over which they are spread.
    pub span: u64,
    /// Wanted size of a piece; 0 for the usual one.
    pub extent: u64,
    /// The longest request.
    pub longest: u64,
    pub volumes: u32,
    pub first_volume: u32,
    pub start: u64,
}

/// Pieces lie at multiples of this.
const PAGE: u64 = 4096;

/// Pieces of a footprint that is spread, where nothing else is said.
const PIECES: u64 = 64;

/// Places at which new space is taken side by side.
const FRONTS: u64 = 16;

impl Layout {
    /// A layout of this shape.
    pub fn new(shape: Shape) -> Result<Self, String> {
        let Shape { footprint, span, extent, longest, .. } = shape;
        let volumes = u64::from(shape.volumes);
        let spread = span > footprint || extent > 0 || volumes > 1;
        let most = (footprint / longest.max(PAGE)).max(1);
        let wanted = match (extent, spread) {
            (0, true) => PIECES.min(most),
            (0, false) => FRONTS.min(most),
            _ => (footprint / extent).max(1),
        };
        let pieces = wanted.next_multiple_of(volumes);
        let pieces_per_volume = pieces / volumes;
        // Pieces keep to whole pages, the last of a volume too.
        let volume_span = if pieces == 1 { span } else { span / volumes / PAGE * PAGE };
        let stride = volume_span / pieces_per_volume / PAGE * PAGE;
        // Whole pages where that changes the footprint by less than a percent.
        let even = footprint / pieces;
        let unit = if even < 64 * PAGE { SECTOR } else { PAGE };
        let piece = ((even + unit / 2) / unit * unit).min(stride);
        // A footprint in one piece is as long as it was said to be.
        let (piece, stride) = if pieces == 1 { (footprint, span) } else { (piece, stride) };
        if even.min(piece) < longest {
            return Err(format!(
                "footprint: is divided into {pieces} pieces of {even} B, which do not hold \
                 requests of {longest} B; make it larger, or give a larger `extent` or fewer \
                 volumes"
            ));
        }
        let scatter = spread.then(|| Scatter::new(pieces));
        let turn = scatter.as_ref().map_or(0, |scatter| pieces - 1 - scatter.place(0));
        Ok(Self {
            piece,
            pieces,
            stride,
            volume_span,
            pieces_per_volume,
            first_volume: shape.first_volume,
            start: shape.start,
            scatter,
            turn,
        })
    }

    /// Bytes of all pieces.
    pub fn footprint(&self) -> u64 {
        self.piece * self.pieces
    }

    /// True where `len` bytes from `place` on lie in one piece.
    #[inline]
    pub fn holds(&self, place: u64, len: u64) -> bool {
        place % self.piece + len <= self.piece && place < self.footprint()
    }

    /// True where a request at `place` would follow one that ended at `last`; pieces that lie apart
    /// do not follow one another.
    #[inline]
    pub fn follows(&self, last: Option<u64>, place: u64) -> bool {
        last == Some(place) && (self.scatter.is_none() || !place.is_multiple_of(self.piece))
    }

    /// The nearest place at or before `place` where `len` bytes lie in one piece.
    #[inline]
    pub fn fit(&self, place: u64, len: u64) -> u64 {
        place - (place % self.piece + len).saturating_sub(self.piece)
    }

    /// Volume and byte of a place.
    #[inline]
    pub fn address(&self, place: u64) -> (u32, u64) {
        let piece = place / self.piece;
        let position = self
            .scatter
            .as_ref()
            .map_or(piece, |scatter| (scatter.place(piece) + self.turn) % self.pieces);
        let (volume, row) = (position / self.pieces_per_volume, position % self.pieces_per_volume);
        let is_last = row + 1 == self.pieces_per_volume;
        let begin = if is_last { self.volume_span - self.piece } else { row * self.stride };
        (self.first_volume + volume as u32, self.start + begin + place % self.piece)
    }
}

/// How much of the footprint has been touched: several fronts move on side by side, each through
/// pieces of its own.
#[derive(Debug)]
pub(super) struct Touched {
    fronts: Vec<Front>,
    total: u64,
}

#[derive(Debug)]
struct Front {
    begin: u64,
    now: u64,
    end: u64,
}

impl Touched {
    /// Nothing touched yet.
    pub fn new(layout: &Layout) -> Self {
        let count = layout.pieces.min(FRONTS);
        let bound = |index: u64| {
            (u128::from(layout.pieces) * u128::from(index) / u128::from(count)) as u64
                * layout.piece
        };
        let front = |index| Front { begin: bound(index), now: bound(index), end: bound(index + 1) };
        Self { fronts: (0..count).map(front).collect(), total: 0 }
    }

    /// Bytes touched.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The place of new space behind some front, but not right behind the request that ended at
    /// `last`.
    pub fn draw_new(&self, layout: &Layout, last: Option<u64>, random: &mut Pcg64) -> Option<u64> {
        let count = self.fronts.len() as u64;
        let first = below(random, count);
        (0..count)
            .map(|step| &self.fronts[((first + step) % count) as usize])
            .find(|front| front.now < front.end && !layout.follows(last, front.now))
            .map(|front| front.now)
    }

    /// A place among what has been touched, if anything has been.
    pub fn draw_old(&self, step: u64, random: &mut Pcg64) -> Option<u64> {
        if self.total == 0 {
            return None;
        }
        let mut place = below(random, self.total.div_ceil(step)) * step;
        for front in &self.fronts {
            let length = front.now - front.begin;
            if place < length {
                return Some(front.begin + place / step * step);
            }
            place -= length;
        }
        None
    }

    /// Takes note of a request.
    #[inline]
    pub fn add(&mut self, place: u64, len: u64) {
        // Pieces do not cross the bounds of fronts, and requests not those of pieces.
        let index = self.fronts.partition_point(|front| front.end <= place);
        let front = &mut self.fronts[index];
        let end = place + len;
        if end > front.now {
            self.total += end - front.now;
            front.now = end;
        }
    }
}

/// Places of the most recent requests.
#[derive(Debug)]
pub(super) struct Recent {
    places: Vec<u64>,
    max: usize,
    /// Where the next one goes.
    next: usize,
}

impl Recent {
    pub fn new(max: u64) -> Self {
        Self { places: Vec::new(), max: max as usize, next: 0 }
    }

    pub fn len(&self) -> u64 {
        self.places.len() as u64
    }

    #[inline]
    pub fn add(&mut self, place: u64) {
        if self.places.len() < self.max {
            self.places.push(place);
        } else {
            self.places[self.next] = place;
        }
        self.next = (self.next + 1) % self.max;
    }

    /// A place, the d-th latest with a probability proportional to about 1 / d; `None` where there
    /// is none.
    #[inline]
    pub fn draw(&self, random: &mut Pcg64) -> Option<u64> {
        let len = self.places.len();
        if len == 0 {
            return None;
        }
        let back = libm::exp(unit(random) * libm::log((len + 1) as f64)) as usize;
        let back = back.clamp(1, len);
        Some(self.places[(self.next + len - back) % len])
    }
}
