//! Numbers of things, as types of their own: a logical page is not a flash page.

/// Defines a number as a type.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone,
            Copy,
            Default,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            serde::Serialize,
            serde::Deserialize,
        )]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// No such thing.
            pub const NONE: Self = Self(crate::support::NONE);

            /// As an index.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Whether this is no such thing.
            #[inline]
            pub const fn is_none(self) -> bool {
                self.0 == crate::support::NONE
            }

            /// This one and those that follow it, so many in all.
            #[inline]
            pub fn run(
                self,
                count: u32,
            ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
                Self::each(self..self + count)
            }

            /// This one and all that follow it.
            #[inline]
            pub fn onwards(self) -> impl Iterator<Item = Self> + Clone {
                (self.0..).map(Self)
            }

            /// All of a range, in order.
            #[inline]
            pub fn each(
                range: std::ops::Range<Self>,
            ) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone {
                (range.start.0..range.end.0).map(Self)
            }

            /// A range as indices.
            #[inline]
            pub const fn indices(range: &std::ops::Range<Self>) -> std::ops::Range<usize> {
                range.start.index()..range.end.index()
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.0, f)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }

        /// The n-th after it.
        impl std::ops::Add<u32> for $name {
            type Output = Self;

            #[inline]
            fn add(self, n: u32) -> Self {
                Self(self.0 + n)
            }
        }

        impl std::ops::AddAssign<u32> for $name {
            #[inline]
            fn add_assign(&mut self, n: u32) {
                self.0 += n;
            }
        }

        /// How far apart they are.
        impl std::ops::Sub<Self> for $name {
            type Output = u32;

            #[inline]
            fn sub(self, before: Self) -> u32 {
                self.0 - before.0
            }
        }
    };
}

id! {
    /// A page as the host numbers it.
    Lpn
}

id! {
    /// Pages with consecutive numbers, as many as an erase block has.
    LogicalBlock
}

id! {
    /// A request under way: its place in the table of those.
    RequestId
}

id! {
    /// A page of the flash array, as it is mapped.
    Ppn
}

id! {
    /// An erase block of the array.
    BlockId
}

id! {
    /// A unit: a plane, or all planes of a die where they are driven together.
    PlaneId
}

id! {
    /// A die: what does one thing at a time.
    DieId
}

impl PlaneId {
    /// From `first` on each `step`-th before `end`.
    #[inline]
    pub fn every(first: u32, step: u32, end: u32) -> impl Iterator<Item = Self> + Clone {
        let mut next = first;
        // Not `step_by`, which divides to begin with.
        std::iter::from_fn(move || {
            let at = next;
            next = next.saturating_add(step);
            (at < end).then_some(Self(at))
        })
    }
}

impl Lpn {
    /// The logical block that it lies in.
    #[inline]
    pub const fn block(self, pages_per_block: u32) -> LogicalBlock {
        LogicalBlock(self.0 / pages_per_block)
    }

    /// Its place in that block.
    #[inline]
    pub const fn offset(self, pages_per_block: u32) -> u32 {
        self.0 % pages_per_block
    }
}

impl LogicalBlock {
    /// Its first page.
    #[inline]
    pub const fn first(self, pages_per_block: u32) -> Lpn {
        Lpn(self.0 * pages_per_block)
    }

    /// Its pages.
    #[inline]
    pub const fn range(self, pages_per_block: u32) -> std::ops::Range<Lpn> {
        let first = self.first(pages_per_block);
        first..Lpn(first.0 + pages_per_block)
    }
}

impl Ppn {
    /// The erase block that it lies in.
    #[inline]
    pub const fn block(self, pages_per_block: u32) -> BlockId {
        BlockId(self.0 / pages_per_block)
    }
}

impl BlockId {
    /// Its page number `page`.
    #[inline]
    pub const fn page(self, page: u32, pages_per_block: u32) -> Ppn {
        Ppn(self.0 * pages_per_block + page)
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockId, LogicalBlock, Lpn, Ppn};

    #[test]
    fn numbers_are_shown_and_stored_bare() {
        assert_eq!(format!("{} {:?} {:3}", Lpn(7), [Lpn(7)], Lpn(7)), "7 [7]   7");
        assert_eq!(serde_json::to_string(&LogicalBlock(7)).unwrap(), "7");
    }

    #[test]
    fn pages_lie_in_blocks() {
        assert_eq!((Lpn(13).block(4), Lpn(13).offset(4)), (LogicalBlock(3), 1));
        assert!(Lpn::each(LogicalBlock(3).range(4)).eq(Lpn(12).run(4)));
        assert_eq!((Ppn(13).block(4), BlockId(3).page(1, 4)), (BlockId(3), Ppn(13)));
        assert_eq!(Lpn::indices(&LogicalBlock(3).range(4)), 12..16);
        assert!(Lpn(12).onwards().take(2).eq([12, 13].map(Lpn)));
        assert!(Lpn::NONE.is_none() && !Lpn(0).is_none());
    }
}
