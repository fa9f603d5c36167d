//! State that is written down, and taken over by an object of the same type that has been built
//! from the same configuration.
//!
//! What derives `Serialize` and `Deserialize` can do that already. What holds trait objects lists
//! its fields for [`persist`](crate::persist): each object takes over what one of its type has
//! written, since the configuration says which type that is.

use std::io::{self, BufWriter, Write};

use postcard::de_flavors::Slice;
use postcard::ser_flavors::Flavor;
use postcard::ser_flavors::io::WriteFlavor;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What takes the bytes.
pub type Sink<'a> = postcard::Serializer<WriteFlavor<BufWriter<&'a mut dyn Write>>>;

/// What gives them.
pub type Source<'a> = postcard::Deserializer<'a, Slice<'a>>;

/// What went wrong: nothing more could be written, or these are not the bytes of such an object.
pub type Error = postcard::Error;

/// State that can be written down and taken over.
pub trait Persist {
    /// Writes the state down.
    ///
    /// # Errors
    /// Nothing more could be written.
    fn save(&self, sink: &mut Sink<'_>) -> Result<(), Error>;

    /// Takes over what one of the same type and configuration has written. After an error the state
    /// is of no use.
    ///
    /// # Errors
    /// That is not what stands there.
    fn load(&mut self, source: &mut Source<'_>) -> Result<(), Error>;
}

impl<T: Serialize + DeserializeOwned> Persist for T {
    fn save(&self, sink: &mut Sink<'_>) -> Result<(), Error> {
        self.serialize(sink)
    }

    fn load(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        *self = T::deserialize(source)?;
        Ok(())
    }
}

/// A field that holds a trait object, or none.
pub trait Object {
    /// The object.
    fn object(&self) -> Option<&dyn Persist>;
    /// The object, to take something over.
    fn object_mut(&mut self) -> Option<&mut dyn Persist>;
}

/// Lets fields hold objects of these traits.
#[macro_export]
macro_rules! persist_objects {
    ($($trait:path),+ $(,)?) => {$(
        impl $crate::support::persist::Object for Box<dyn $trait> {
            fn object(&self) -> Option<&dyn $crate::support::persist::Persist> {
                Some(&**self)
            }
            fn object_mut(&mut self) -> Option<&mut dyn $crate::support::persist::Persist> {
                Some(&mut **self)
            }
        }
    )+};
}

impl<T: Object> Object for Option<T> {
    fn object(&self) -> Option<&dyn Persist> {
        self.as_ref()?.object()
    }
    fn object_mut(&mut self) -> Option<&mut dyn Persist> {
        self.as_mut()?.object_mut()
    }
}

/// Writes down, and takes over, all fields of a type that holds trait objects: first those that do
/// not, then `long` vectors of numbers, then `objects`. The compiler asks for a field that is
/// missing.
#[macro_export]
macro_rules! persist {
    (
        $type:ident $(<$scheme:ident>)? { $($field:ident),* $(,)? }
        $(long { $($long:ident),* $(,)? })?
        $(objects { $($object:ident),* $(,)? })?
    ) => {
        impl $(<$scheme: $crate::support::persist::Persist>)? $crate::support::persist::Persist
            for $type $(<$scheme>)?
        {
            fn save(
                &self,
                sink: &mut $crate::support::persist::Sink<'_>,
            ) -> Result<(), $crate::support::persist::Error> {
                let Self { $($field,)* $($($long,)*)? $($($object,)*)? } = self;
                $($crate::support::persist::Persist::save($field, sink)?;)*
                $($($crate::support::bulk::serialize($long, &mut *sink)?;)*)?
                $($(if let Some(object) = $crate::support::persist::Object::object($object) {
                    object.save(sink)?;
                })*)?
                Ok(())
            }

            fn load(
                &mut self,
                source: &mut $crate::support::persist::Source<'_>,
            ) -> Result<(), $crate::support::persist::Error> {
                let Self { $($field,)* $($($long,)*)? $($($object,)*)? } = self;
                $($crate::support::persist::Persist::load($field, source)?;)*
                $($(*$long = $crate::support::bulk::deserialize(&mut *source)?;)*)?
                $($(if let Some(object) = $crate::support::persist::Object::object_mut($object) {
                    object.load(source)?;
                })*)?
                Ok(())
            }
        }
    };
}

/// Writes down what `save` does.
///
/// # Errors
/// Nothing more could be written.
pub fn write_to(
    out: &mut dyn Write,
    save: impl FnOnce(&mut Sink<'_>) -> Result<(), Error>,
) -> io::Result<()> {
    let mut sink = Sink { output: WriteFlavor::new(BufWriter::with_capacity(1 << 18, out)) };
    save(&mut sink).map_err(io::Error::other)?;
    sink.output.finalize().map_err(io::Error::other)?;
    Ok(())
}

/// Takes over all of `bytes`.
///
/// # Errors
/// They are of something else.
pub fn read_from(
    bytes: &[u8],
    load: impl FnOnce(&mut Source<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut source = Source::from_bytes(bytes);
    load(&mut source)?;
    if source.finalize()?.is_empty() { Ok(()) } else { Err(Error::DeserializeBadEncoding) }
}
