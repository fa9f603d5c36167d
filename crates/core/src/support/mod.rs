//! Small structures that the stages share: index-linked lists, sets, a tree of minima, the registry
//! macro.

pub mod ahead;
pub mod bits;
pub mod bulk;
pub mod chunks;
pub mod classes;
pub mod clocks;
pub mod divide;
pub mod frequency;
pub mod heap;
pub mod ids;
pub mod list;
pub mod marks;
pub mod members;
pub mod minima;
pub mod persist;
pub mod registry;
pub mod roomy;
pub mod sketch;
pub mod units;

/// "No such index" in every `u32` index of this crate.
pub const NONE: u32 = u32::MAX;

/// Whole things in a share of `all`: 29 in 0.29 of 100, though that product is a little less in
/// binary.
pub fn whole_share(share: f64, all: u32) -> u32 {
    libm::floor(share * f64::from(all) + 1e-9) as u32
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_share_is_what_it_says() {
        assert_eq!(
            [0.29, 0.15, 0.999, 0.0].map(|share| super::whole_share(share, 100)),
            [29, 15, 99, 0]
        );
    }
}
