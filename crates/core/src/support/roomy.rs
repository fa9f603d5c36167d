//! Vectors and queues whose copies have as much room as they have, in memory and written down: a
//! drive that starts from a copy of another one allocates no more than that one would.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! roomy {
    ($(#[$doc:meta])* $name:ident of $inner:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<T>($inner<T>);

        impl<T> $name<T> {
            /// Empty, with room for so many.
            pub fn with_capacity(capacity: usize) -> Self {
                Self($inner::with_capacity(capacity))
            }
        }

        impl<T> Default for $name<T> {
            fn default() -> Self {
                Self($inner::new())
            }
        }

        impl<T: Clone> Clone for $name<T> {
            fn clone(&self) -> Self {
                let mut copy = Self::with_capacity(self.0.capacity());
                copy.0.extend(self.0.iter().cloned());
                copy
            }
        }

        impl<T: Serialize> Serialize for $name<T> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                (self.0.capacity() as u64, &self.0).serialize(serializer)
            }
        }

        impl<'de, T: Deserialize<'de>> Deserialize<'de> for $name<T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let (capacity, all) = <(u64, $inner<T>)>::deserialize(deserializer)?;
                let mut own = $inner::new();
                own.try_reserve_exact(capacity as usize).map_err(D::Error::custom)?;
                own.extend(all);
                Ok(Self(own))
            }
        }

        impl<T> Deref for $name<T> {
            type Target = $inner<T>;

            #[inline]
            fn deref(&self) -> &$inner<T> {
                &self.0
            }
        }

        impl<T> DerefMut for $name<T> {
            #[inline]
            fn deref_mut(&mut self) -> &mut $inner<T> {
                &mut self.0
            }
        }

        impl<T> From<$inner<T>> for $name<T> {
            fn from(inner: $inner<T>) -> Self {
                Self(inner)
            }
        }

        impl<T> IntoIterator for $name<T> {
            type Item = T;
            type IntoIter = <$inner<T> as IntoIterator>::IntoIter;

            fn into_iter(self) -> Self::IntoIter {
                self.0.into_iter()
            }
        }

        impl<'a, T> IntoIterator for &'a $name<T> {
            type Item = &'a T;
            type IntoIter = <&'a $inner<T> as IntoIterator>::IntoIter;

            fn into_iter(self) -> Self::IntoIter {
                self.0.iter()
            }
        }

        impl<T> FromIterator<T> for $name<T> {
            fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
                Self(all.into_iter().collect())
            }
        }
    };
}

roomy! {
    /// A vector.
    Roomy of Vec
}

roomy! {
    /// A queue.
    RoomyQueue of VecDeque
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_as_much_room() {
        let mut vector: Roomy<u32> = Roomy::with_capacity(100);
        vector.extend(0..7);
        let copy = vector.clone();
        assert_eq!((&*copy, copy.capacity()), (&*vector, vector.capacity()));
        let written = postcard::to_allocvec(&vector).unwrap();
        let copy: Roomy<u32> = postcard::from_bytes(&written).unwrap();
        assert_eq!((&*copy, copy.capacity()), (&*vector, vector.capacity()));
        let mut queue: RoomyQueue<u32> = (0..50).collect();
        queue.drain(..30);
        let copy = queue.clone();
        assert_eq!((&*copy, copy.capacity()), (&*queue, queue.capacity()));
        let written = postcard::to_allocvec(&queue).unwrap();
        let copy: RoomyQueue<u32> = postcard::from_bytes(&written).unwrap();
        assert_eq!((&*copy, copy.capacity()), (&*queue, queue.capacity()));
    }
}
