//! Requests: their headers, and which of them make sense.

use crate::export::Export;
use crate::style::{Errno, Style};
use crate::wire::{Cursor, EXTENDED_REQUEST_MAGIC, REQUEST_MAGIC, command, flag};

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Bytes from the drive.
    Read,
    /// Bytes to the drive.
    Write,
    /// All that has been answered outlasts a power cut.
    Flush,
    /// The bytes are not needed any more.
    Trim,
    /// The bytes are zero from now on.
    WriteZeroes {
        /// They keep their place: not by a trim.
        keep: bool,
        /// Only if that is faster than to write them.
        fast: bool,
    },
    /// The bytes are going to be read.
    Cache,
    /// Which bytes are allocated.
    BlockStatus {
        /// One extent is enough.
        one: bool,
    },
}

/// A request that makes sense for the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The client's own number for it.
    pub cookie: u64,
    /// What is asked.
    pub command: Command,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// Forced unit access: what it changes outlasts a power cut when it is answered.
    pub fua: bool,
}

/// A request's header as it stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub flags: u16,
    pub command: u16,
    pub cookie: u64,
    pub offset: u64,
    pub length: u64,
    /// Bytes that follow.
    pub payload: u64,
}

impl Header {
    /// Its length.
    pub fn bytes(style: Style) -> usize {
        if style == Style::Extended { 32 } else { 28 }
    }

    /// The number that begins it.
    pub fn magic(style: Style) -> u32 {
        if style == Style::Extended { EXTENDED_REQUEST_MAGIC } else { REQUEST_MAGIC }
    }

    /// Reads one; `Err` has what stands where the magic number should. Both are `None` while bytes
    /// are missing.
    pub fn read(style: Style, bytes: &[u8]) -> Option<Result<Self, u32>> {
        let mut at = Cursor(bytes);
        let magic = at.u32()?;
        if magic != Self::magic(style) {
            return Some(Err(magic));
        }
        let (flags, command, cookie, offset) = (at.u16()?, at.u16()?, at.u64()?, at.u64()?);
        let (length, payload) = if style == Style::Extended {
            let length = at.u64()?;
            (length, if flags & flag::PAYLOAD == 0 { 0 } else { length })
        } else {
            let length = u64::from(at.u32()?);
            (length, if command == command::WRITE { length } else { 0 })
        };
        Some(Ok(Self { flags, command, cookie, offset, length, payload }))
    }

    /// Whether the client says good-bye.
    pub fn is_disconnect(&self) -> bool {
        self.command == command::DISCONNECT
    }

    /// The request, if it is one that the export can be asked for.
    pub fn check(&self, style: Style, export: &Export, contexts: bool) -> Result<Request, Errno> {
        let Self { flags, cookie, offset, length, .. } = *self;
        let (asked, known) = match self.command {
            command::READ if style == Style::Simple => (Command::Read, flag::FUA),
            command::READ => (Command::Read, flag::FUA | flag::DF),
            command::WRITE if style == Style::Extended => {
                (Command::Write, flag::FUA | flag::PAYLOAD)
            }
            command::WRITE => (Command::Write, flag::FUA),
            command::FLUSH => (Command::Flush, flag::FUA),
            command::TRIM => (Command::Trim, flag::FUA),
            command::CACHE => (Command::Cache, flag::FUA),
            command::WRITE_ZEROES => {
                let (keep, fast) = (flags & flag::NO_HOLE != 0, flags & flag::FAST_ZERO != 0);
                let known = flag::FUA | flag::NO_HOLE | flag::FAST_ZERO;
                (Command::WriteZeroes { keep, fast }, known)
            }
            command::BLOCK_STATUS if contexts => {
                (Command::BlockStatus { one: flags & flag::ONE != 0 }, flag::FUA | flag::ONE)
            }
            _ => return Err(Errno::Invalid),
        };
        let is_write = asked == Command::Write;
        if flags & !known != 0
            || (is_write && style == Style::Extended && flags & flag::PAYLOAD == 0)
        {
            return Err(Errno::Invalid);
        }
        let fua = flags & flag::FUA != 0;
        if asked == Command::Flush {
            // What stands in the other fields is reserved.
            return Ok(Request { cookie, command: asked, offset: 0, length: 0, fua });
        }
        let changes = matches!(asked, Command::Write | Command::Trim | Command::WriteZeroes { .. });
        if changes && export.read_only {
            return Err(Errno::NotPermitted);
        }
        let unit = u64::from(export.sizes.minimum) - 1;
        if (offset | length) & unit != 0 {
            return Err(Errno::Invalid);
        }
        if offset.checked_add(length).is_none_or(|end| end > export.size) {
            let stores = is_write || matches!(asked, Command::WriteZeroes { .. });
            return Err(if stores { Errno::NoSpace } else { Errno::Invalid });
        }
        if asked == Command::Read && length > u64::from(export.sizes.most) {
            return Err(if style == Style::Simple { Errno::Invalid } else { Errno::Overflow });
        }
        if length == 0 && matches!(asked, Command::BlockStatus { .. }) {
            return Err(Errno::Invalid);
        }
        Ok(Request { cookie, command: asked, offset, length, fua })
    }
}
