//! A long vector whose copies share what none of them has changed: a drive that starts from a
//! filled one takes memory, and time to copy, only for the parts that its run writes.

use std::ops::{Index, Range};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bulk::{self, Number};

#[derive(Debug)]
enum Part<T, const PART: usize> {
    /// Nobody else has it.
    Own(Box<[T; PART]>),
    /// Others may have it, too: copied before it is written.
    Shared(Arc<[T; PART]>),
}

impl<T: Copy, const PART: usize> Part<T, PART> {
    #[inline]
    fn get(&self) -> &[T; PART] {
        match self {
            Self::Own(part) => part,
            Self::Shared(part) => part,
        }
    }

    #[inline]
    fn get_mut(&mut self) -> &mut [T; PART] {
        if let Self::Shared(part) = self {
            *self = Self::Own(boxed(part.iter().copied()));
        }
        match self {
            Self::Own(part) => part,
            Self::Shared(_) => unreachable!("it has been copied"),
        }
    }
}

/// A part of these elements.
#[cold]
fn boxed<T: Copy, const PART: usize>(all: impl Iterator<Item = T>) -> Box<[T; PART]> {
    let part: Box<[T]> = all.collect();
    part.try_into()
        .unwrap_or_else(|part: Box<[T]>| unreachable!("{} elements, expected {PART}", part.len()))
}

/// Elements that are looked at together.
const TOGETHER: usize = 16;

/// A vector of fixed length in parts. A copy shares all of them with the vector that it was made
/// of, if that is a copy itself. A part has `PART` elements, a power of two: fewer of them where
/// elements are large and many a vector is short.
#[derive(Debug)]
pub struct Chunks<T, const PART: usize = 4096> {
    parts: Vec<Part<T, PART>>,
    len: usize,
}

impl<T: Copy, const PART: usize> Chunks<T, PART> {
    /// `len` times `value`; takes memory where it is written.
    pub fn new(len: usize, value: T) -> Self {
        let part: Arc<[T; PART]> = Arc::new([value; PART]);
        let parts = (0..len.div_ceil(PART)).map(|_| Part::Shared(Arc::clone(&part)));
        Self { parts: parts.collect(), len }
    }

    /// Elements.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a drive without pages is refused")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Gives element `i` a value.
    #[inline]
    pub fn set(&mut self, i: usize, value: T) {
        self.parts[i / PART].get_mut()[i % PART] = value;
    }

    /// Element `i`, to be changed.
    #[inline]
    pub fn at_mut(&mut self, i: usize) -> &mut T {
        &mut self.parts[i / PART].get_mut()[i % PART]
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.range(0..self.len)
    }

    /// Some of them, in order.
    #[inline]
    pub fn range(&self, range: Range<usize>) -> impl Iterator<Item = &T> {
        self.slices(range).flatten()
    }

    /// The same as slices.
    #[inline]
    fn slices(&self, range: Range<usize>) -> impl Iterator<Item = &[T]> {
        let Range { start: mut at, end } = range;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let (from, to) = (at % PART, PART.min(at % PART + end - at));
                let slice = &self.parts[at / PART].get()[from..to];
                at += slice.len();
                slice
            })
        })
    }

    /// The first in `range` that `is` holds for; it had better do without branches. Many are looked
    /// at together, as long as it holds for none of them.
    #[inline]
    pub fn first(&self, range: Range<usize>, is: impl Fn(T) -> bool) -> Option<usize> {
        let mut start = range.start;
        for slice in self.slices(range) {
            if let Some(at) = first(slice, &is) {
                return Some(start + at);
            }
            start += slice.len();
        }
        None
    }

    /// The first of `range` to be written: as many as lie in one part.
    #[inline]
    pub fn head_mut(&mut self, range: Range<usize>) -> &mut [T] {
        let from = range.start % PART;
        let to = PART.min(from + range.len());
        &mut self.parts[range.start / PART].get_mut()[from..to]
    }
}

/// The first of these elements that `is` holds for; see [`Chunks::first`].
#[inline]
pub fn first<T: Copy>(all: &[T], is: impl Fn(T) -> bool) -> Option<usize> {
    let mut start = 0;
    for some in all.chunks(TOGETHER) {
        if is(some[0]) {
            return Some(start);
        }
        if some.iter().fold(false, |any, &one| any | is(one)) {
            return some.iter().position(|&one| is(one)).map(|at| start + at);
        }
        start += some.len();
    }
    None
}

impl<T: Copy, const PART: usize> Index<usize> for Chunks<T, PART> {
    type Output = T;

    #[inline]
    fn index(&self, i: usize) -> &T {
        &self.parts[i / PART].get()[i % PART]
    }
}

impl<T: Copy, const PART: usize> Clone for Chunks<T, PART> {
    fn clone(&self) -> Self {
        let shared = |part: &Part<T, PART>| match part {
            Part::Own(part) => Part::Shared(Arc::from(part.clone())),
            Part::Shared(part) => Part::Shared(Arc::clone(part)),
        };
        Self { parts: self.parts.iter().map(shared).collect(), len: self.len }
    }
}

impl<T: Number, const PART: usize> Serialize for Chunks<T, PART> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all: Vec<T> = self.iter().copied().collect();
        bulk::serialize(&all, serializer)
    }
}

impl<'de, T: Number, const PART: usize> Deserialize<'de> for Chunks<T, PART> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all: Vec<T> = bulk::deserialize(deserializer)?;
        let own = |part: &[T]| {
            let padding = std::iter::repeat(part[0]);
            Part::Own(boxed(part.iter().copied().chain(padding).take(PART)))
        };
        Ok(Self { parts: all.chunks(PART).map(own).collect(), len: all.len() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PART: usize = 64;
    const LEN: usize = PART * 2 + 100;

    proptest! {
        /// Copies, and copies of copies, hold what vectors would, whichever of them is written.
        #[test]
        fn copies_are_as_good_as_vectors(
            writes in prop::collection::vec((0..4usize, 0..LEN, any::<u32>(), 1..200usize), 1..60),
        ) {
            let mut all = vec![(Chunks::<u32, PART>::new(LEN, 7), vec![7; LEN])];
            for (of, at, value, most) in writes {
                let of = of % all.len();
                if value % 3 == 0 && all.len() < 4 {
                    let copy = all[of].clone();
                    all.push(copy);
                }
                let (chunks, model) = &mut all[of];
                chunks.set(at, value);
                model[at] = value;
                let end = LEN.min(at + most);
                let head = chunks.head_mut(at..end);
                head.fill(value);
                let written = head.len();
                model[at..at + written].fill(value);
                prop_assert!(written == end - at || (at + written).is_multiple_of(PART));
                prop_assert!(chunks.range(at..end).eq(&model[at..end]));
                let first = model[at..end].iter().position(|&one| one == 7).map(|found| at + found);
                prop_assert_eq!(chunks.first(at..end, |one| one == 7), first);
            }
            for (chunks, model) in &all {
                prop_assert_eq!(chunks.len(), model.len());
                prop_assert!(chunks.iter().eq(model));
                prop_assert_eq!(chunks[LEN - 1], model[LEN - 1]);
                let bytes = postcard::to_allocvec(chunks).unwrap();
                let read: Chunks<u32, PART> = postcard::from_bytes(&bytes).unwrap();
                prop_assert!(read.len() == LEN && read.iter().eq(model));
            }
        }
    }
}
