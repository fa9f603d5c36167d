//! Long vectors of plain numbers, written as they lie in memory and not one by one: for
//! `#[serde(with = "crate::support::bulk")]`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserializer, Serialize, Serializer};

/// Bytes that are written at once.
const PIECE: usize = 1 << 16;

/// A number of fixed size.
pub trait Number: Copy {
    /// Bytes of one.
    const BYTES: usize;
    /// Appends one, the lowest byte first.
    fn put(self, bytes: &mut Vec<u8>);
    /// What so many bytes say.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            const BYTES: usize = size_of::<$type>();

            #[inline]
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }
        }
    )*};
}

number!(u8, u16, u32, u64);

/// Bytes, written as they are.
struct Piece<'a>(&'a [u8]);

impl Serialize for Piece<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Writes all of a vector.
///
/// # Errors
/// The serializer's.
pub fn serialize<T: Number, S: Serializer>(all: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    let pieces = all.chunks(PIECE / T::BYTES);
    let mut written = serializer.serialize_seq(Some(pieces.len()))?;
    let mut bytes = Vec::with_capacity(PIECE);
    for piece in pieces {
        bytes.clear();
        for number in piece {
            number.put(&mut bytes);
        }
        written.serialize_element(&Piece(&bytes))?;
    }
    written.end()
}

struct Pieces<T>(PhantomData<T>);

impl<'de, T: Number> Visitor<'de> for Pieces<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers as bytes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pieces: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        let most = pieces.size_hint().unwrap_or(0).saturating_mul(PIECE / T::BYTES);
        all.try_reserve_exact(most).map_err(A::Error::custom)?;
        while let Some(bytes) = pieces.next_element::<&'de [u8]>()? {
            let numbers = bytes.chunks_exact(T::BYTES);
            if !numbers.remainder().is_empty() {
                return Err(A::Error::custom("part of a number"));
            }
            all.extend(numbers.map(T::get));
        }
        all.shrink_to_fit();
        Ok(all)
    }
}

/// Reads what [`serialize`] has written.
///
/// # Errors
/// It is something else.
pub fn deserialize<'de, T: Number, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_seq(Pieces(PhantomData))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, serde::Deserialize)]
    struct Long<T: Number> {
        #[serde(with = "crate::support::bulk")]
        numbers: Vec<T>,
    }

    #[test]
    fn several_pieces_come_back() {
        let long =
            Long { numbers: (0..100_000_u32).map(|i| i.wrapping_mul(0x9E37_79B1)).collect() };
        let bytes = postcard::to_allocvec(&long).unwrap();
        assert!(bytes.len() < 400_100, "{} bytes", bytes.len());
        assert_eq!(postcard::from_bytes::<Long<u32>>(&bytes).unwrap(), long);
    }

    proptest! {
        #[test]
        fn numbers_come_back(numbers: Vec<u16>) {
            let long = Long { numbers };
            let bytes = postcard::to_allocvec(&long).unwrap();
            prop_assert_eq!(postcard::from_bytes::<Long<u16>>(&bytes).unwrap(), long);
            // As other numbers, or cut: an error, or something else, never a panic.
            let _ = postcard::from_bytes::<Long<u64>>(&bytes);
            let _ = postcard::from_bytes::<Long<u16>>(&bytes[..bytes.len() / 2]);
        }
    }
}
