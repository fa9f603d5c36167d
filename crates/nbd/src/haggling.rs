//! Negotiation: one option at a time, until the client has chosen the export or gives up.

use crate::export::Export;
use crate::fault::Fault;
use crate::style::Style;
use crate::wire::{
    ALLOCATION, ALLOCATION_ID, Cursor, NO_ZEROES, OPTION_REPLY_MAGIC, Put, answer, info, option,
};

/// What has been agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed {
    /// How answers look.
    pub style: Style,
    /// The client may ask which bytes are allocated.
    pub contexts: bool,
    /// The client's answer to the greeting.
    pub client: u16,
}

/// Whether what is said is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// It is not, and the server has no TLS.
    Clear,
    /// It is not, and has to be before an export can be seen.
    NeedsTls,
    /// It is.
    Encrypted,
}

/// What comes after an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Another option.
    Option,
    /// The TLS handshake.
    Tls,
    /// Requests.
    Transmission,
    /// Nothing.
    End,
}

/// Answers option `number` with these `data`; `ends` says that the server does not take new
/// clients.
pub fn answer(
    (number, data): (u32, &[u8]),
    export: &Export,
    agreed: &mut Agreed,
    (security, ends): (Security, bool),
    out: &mut Vec<u8>,
) -> Result<Next, Fault> {
    let mut to = To { out, number };
    match number {
        option::EXPORT_NAME if security == Security::NeedsTls => return Err(Fault::Clear),
        option::EXPORT_NAME => {
            if !export.is_called(data) || agreed.style == Style::Extended || ends {
                return Err(Fault::NoExport);
            }
            to.out.u64(export.size);
            to.out.u16(export.flags(agreed.style != Style::Simple));
            if agreed.client & NO_ZEROES == 0 {
                to.out.resize(to.out.len() + 124, 0);
            }
            return Ok(Next::Transmission);
        }
        option::ABORT => {
            to.reply(answer::ACK, &[]);
            return Ok(Next::End);
        }
        _ if ends => to.reply(answer::SHUTDOWN, b"the server ends"),
        option::STARTTLS if data.is_empty() => match security {
            Security::Clear => to.reply(answer::UNSUPPORTED, b"this server has no TLS"),
            Security::NeedsTls => {
                to.reply(answer::ACK, &[]);
                return Ok(Next::Tls);
            }
            Security::Encrypted => to.reply(answer::INVALID, b"TLS has begun"),
        },
        _ if security == Security::NeedsTls && number != option::STARTTLS => {
            to.reply(answer::TLS_REQUIRED, b"this server requires TLS");
        }
        option::LIST if data.is_empty() => {
            let mut server = Vec::with_capacity(4 + export.name.len());
            server.u32(export.name.len() as u32);
            server.extend_from_slice(export.name.as_bytes());
            to.reply(answer::SERVER, &server);
            to.reply(answer::ACK, &[]);
        }
        option::STRUCTURED_REPLY if data.is_empty() => {
            if agreed.style == Style::Extended {
                to.reply(answer::EXTENDED_HEADERS_REQUIRED, b"extended headers are agreed on");
            } else {
                agreed.style = Style::Structured;
                to.reply(answer::ACK, &[]);
            }
        }
        option::EXTENDED_HEADERS if data.is_empty() => {
            agreed.style = Style::Extended;
            to.reply(answer::ACK, &[]);
        }
        option::LIST | option::STRUCTURED_REPLY | option::EXTENDED_HEADERS | option::STARTTLS => {
            to.reply(answer::INVALID, b"this option has no data");
        }
        option::INFO | option::GO => {
            let Some((name, wanted)) = export_and_wanted(data) else {
                to.reply(answer::INVALID, b"not an export and a list of what to tell of it");
                return Ok(Next::Option);
            };
            if !export.is_called(name) {
                to.reply(answer::UNKNOWN, b"there is no such export");
                return Ok(Next::Option);
            }
            to.describe(export, agreed.style, wanted);
            to.reply(answer::ACK, &[]);
            if number == option::GO {
                return Ok(Next::Transmission);
            }
        }
        option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
            let set = number == option::SET_META_CONTEXT;
            if set {
                agreed.contexts = false;
            }
            let found = match matches_allocation(data, set) {
                _ if agreed.style == Style::Simple => Err("structured replies come first"),
                None => Err("not an export and a list of queries"),
                Some((name, _)) if !export.is_called(name) => {
                    to.reply(answer::UNKNOWN, b"there is no such export");
                    return Ok(Next::Option);
                }
                Some((_, found)) => Ok(found),
            };
            match found {
                Err(why) => to.reply(answer::INVALID, why.as_bytes()),
                Ok(found) => {
                    if found {
                        let mut context = Vec::with_capacity(4 + ALLOCATION.len());
                        context.u32(if set { ALLOCATION_ID } else { 0 });
                        context.extend_from_slice(ALLOCATION.as_bytes());
                        to.reply(answer::META_CONTEXT, &context);
                    }
                    agreed.contexts |= set && found;
                    to.reply(answer::ACK, &[]);
                }
            }
        }
        _ => to.reply(answer::UNSUPPORTED, b"the server does not know this option"),
    }
    Ok(Next::Option)
}

/// An option has more data than the server reads.
pub fn too_big(number: u32, out: &mut Vec<u8>) {
    To { out, number }.reply(answer::TOO_BIG, b"this option has too much data");
}

/// Answers go to one option.
struct To<'a> {
    out: &'a mut Vec<u8>,
    number: u32,
}

impl To<'_> {
    fn reply(&mut self, kind: u32, data: &[u8]) {
        self.out.u64(OPTION_REPLY_MAGIC);
        self.out.u32(self.number);
        self.out.u32(kind);
        self.out.u32(data.len() as u32);
        self.out.extend_from_slice(data);
    }

    /// Tells of an export what it has to, what helps, and what is wanted.
    fn describe(&mut self, export: &Export, style: Style, wanted: &[u8]) {
        let mut data = Vec::new();
        data.u16(info::EXPORT);
        data.u64(export.size);
        data.u16(export.flags(style != Style::Simple));
        self.reply(answer::INFO, &data);
        data.clear();
        data.u16(info::BLOCK_SIZE);
        data.u32(export.sizes.minimum);
        data.u32(export.sizes.preferred);
        data.u32(export.sizes.most);
        self.reply(answer::INFO, &data);
        let asks = |kind: u16| wanted.chunks_exact(2).any(|pair| pair == kind.to_be_bytes());
        for (kind, text) in [(info::NAME, &export.name), (info::DESCRIPTION, &export.description)] {
            if asks(kind) {
                data.clear();
                data.u16(kind);
                data.extend_from_slice(text.as_bytes());
                self.reply(answer::INFO, &data);
            }
        }
    }
}

/// The name of an export, and what is wanted of it: numbers of two bytes.
fn export_and_wanted(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = Cursor(data);
    let length = at.u32()?;
    let name = at.bytes(length as usize)?;
    let count = at.u16()?;
    (at.0.len() == 2 * count as usize).then_some((name, at.0))
}

/// The name of an export, and whether queries find the one context that there is. A list may be
/// asked for by its first part, and is of everything where nothing is asked for.
fn matches_allocation(data: &[u8], exact: bool) -> Option<(&[u8], bool)> {
    let mut at = Cursor(data);
    let length = at.u32()?;
    let name = at.bytes(length as usize)?;
    let count = at.u32()?;
    let mut found = !exact && count == 0;
    for _ in 0..count {
        let length = at.u32()?;
        let query = at.bytes(length as usize)?;
        found |= query == ALLOCATION.as_bytes() || (!exact && query == b"base:");
    }
    at.0.is_empty().then_some((name, found))
}
