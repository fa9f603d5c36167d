//! What client and server agree on: how answers look, and numbers for what goes wrong.

/// How answers look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A number for the outcome, and the bytes of a read.
    Simple,
    /// Pieces of named types.
    Structured,
    /// The same with longer headers, of requests as well.
    Extended,
}

/// What went wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// The export cannot be written.
    NotPermitted = 1,
    /// The drive cannot do it any more.
    Io = 5,
    /// No memory for it now.
    NoMemory = 12,
    /// It makes no sense.
    Invalid = 22,
    /// It lies beyond the end, or the drive has no room.
    NoSpace = 28,
    /// It is too long.
    Overflow = 75,
    /// The drive could do it, but not as it was asked.
    NotSupported = 95,
    /// The server ends.
    Shutdown = 108,
}
