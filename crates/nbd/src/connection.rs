//! One connection, from the greeting to its end.

use std::sync::Arc;

use crate::export::Export;
use crate::fault::Fault;
use crate::haggling::{self, Agreed, Next, Security};
use crate::input::Input;
use crate::reply::Extent;
use crate::request::{Header, Request};
use crate::style::{Errno, Style};
use crate::wire::{Cursor, FIXED_NEWSTYLE, MAGIC, NO_ZEROES, OPTION_MAGIC, Put, option};

/// Bytes of an option that are looked at. More of them are passed over.
const LONGEST_OPTION: u32 = 64 << 10;
/// Bytes of an option that are passed over.
const LONGEST_SKIP: u32 = 1 << 20;
/// A negotiation takes a handful.
const MOST_OPTIONS: u32 = 4096;
/// Answers to options that may wait to be sent.
const MOST_ANSWERS: usize = 256 << 10;

/// What a client wants.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// This, with the bytes of a write. It wants an answer.
    Request(Request, &'a [u8]),
    /// To leave, when what it has asked for has been answered.
    Leaves,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The greeting is said; four bytes of the client's come next.
    Greeted,
    Options {
        seen: u32,
    },
    /// The client has been told to begin TLS.
    Handshake {
        seen: u32,
    },
    Transmission,
    /// Nothing more is read.
    Ended,
}

/// The server's side of one connection.
#[derive(Debug)]
pub struct Connection {
    export: Arc<Export>,
    state: State,
    agreed: Agreed,
    security: Security,
    input: Input,
    output: Vec<u8>,
    /// Bytes to come that mean nothing.
    skip: u64,
    /// Bytes that what comes next takes in all.
    wanted: usize,
    /// New options and requests are refused.
    ends: bool,
    /// The client has chosen the export.
    chosen: bool,
}

impl Connection {
    /// A client has connected. The greeting is in the output.
    pub fn new(export: Arc<Export>) -> Self {
        Self::begin(export, Security::Clear)
    }

    /// The same for a server that shows its export to nobody before TLS has begun.
    pub fn with_tls(export: Arc<Export>) -> Self {
        Self::begin(export, Security::NeedsTls)
    }

    fn begin(export: Arc<Export>, security: Security) -> Self {
        let mut output = Vec::new();
        output.u64(MAGIC);
        output.u64(OPTION_MAGIC);
        output.u16(FIXED_NEWSTYLE | NO_ZEROES);
        let agreed = Agreed { style: Style::Simple, contexts: false, client: 0 };
        let (state, input) = (State::Greeted, Input::default());
        let (ends, chosen) = (false, false);
        Self { export, state, agreed, security, input, output, skip: 0, wanted: 4, ends, chosen }
    }

    /// Where bytes that come may be put; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        self.input.space(self.wanted)
    }

    /// So many bytes have been put there.
    pub fn received(&mut self, count: usize) {
        self.input.filled(count);
    }

    /// Bytes to send; whoever sends them takes them out.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Whether TLS begins once the output has been sent: nothing is read before that.
    pub fn waits_for_tls(&self) -> bool {
        matches!(self.state, State::Handshake { .. })
    }

    /// What comes from now on is what TLS has decrypted, and what is put out will be encrypted.
    /// Whatever was agreed on in the clear, others may have said: it is forgotten.
    ///
    /// # Panics
    /// The client has not asked for it, or bytes have been taken in since.
    pub fn has_begun_tls(&mut self) {
        let State::Handshake { seen } = self.state else { panic!("nobody has asked for TLS") };
        assert!(self.input.unused().is_empty(), "what came in the clear is not to be read");
        self.state = State::Options { seen };
        self.agreed = Agreed { style: Style::Simple, contexts: false, ..self.agreed };
        self.security = Security::Encrypted;
    }

    /// Whether requests can come by now.
    pub fn is_in_transmission(&self) -> bool {
        self.state == State::Transmission
    }

    /// Whether the client has chosen the export, and so been let in.
    pub fn has_chosen(&self) -> bool {
        self.chosen
    }

    /// Whether nothing more is read. What is in the output is still to be sent, and what was asked
    /// for is to be answered.
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Whether no option is read before answers to earlier ones have been sent.
    pub fn is_held_up(&self) -> bool {
        matches!(self.state, State::Options { .. }) && self.output.len() > MOST_ANSWERS
    }

    /// How answers look.
    pub fn style(&self) -> Style {
        self.agreed.style
    }

    /// Bytes of memory for what comes.
    pub fn held(&self) -> usize {
        self.input.held()
    }

    /// The server ends: options and requests that come from now on are refused.
    pub fn shut_down(&mut self) {
        self.ends = true;
    }

    /// What comes next, or nothing while bytes are missing or nothing more will come. Options are
    /// answered on the way; while many of these answers wait to be sent, no more are.
    ///
    /// # Errors
    /// The client has broken the protocol: the connection has ended.
    #[expect(clippy::should_implement_trait, reason = "what is returned lies in the connection")]
    pub fn next(&mut self) -> Result<Option<Event<'_>>, Fault> {
        let found = self.read();
        match found {
            Ok(None) => Ok(None),
            Ok(Some(Found::Leaves)) => Ok(Some(Event::Leaves)),
            Ok(Some(Found::Request(request, payload))) => {
                Ok(Some(Event::Request(request, self.input.take(payload))))
            }
            Err(fault) => {
                self.state = State::Ended;
                Err(fault)
            }
        }
    }

    fn read(&mut self) -> Result<Option<Found>, Fault> {
        loop {
            if self.skip > 0 {
                let there = self.input.unused().len().min(self.skip as usize);
                self.input.skip(there);
                self.skip -= there as u64;
                if self.skip > 0 {
                    return Ok(None);
                }
            }
            let went_on = match self.state {
                State::Greeted => self.read_answer_to_greeting()?,
                State::Options { seen } => !self.is_held_up() && self.read_option(seen)?,
                State::Transmission => match self.read_request()? {
                    Step::Found(found) => return Ok(Some(found)),
                    Step::Refused => true,
                    Step::Missing => false,
                },
                State::Handshake { .. } | State::Ended => false,
            };
            if !went_on {
                return Ok(None);
            }
        }
    }

    fn read_answer_to_greeting(&mut self) -> Result<bool, Fault> {
        let Some(flags) = Cursor(self.input.unused()).u32() else { return Ok(false) };
        self.input.skip(4);
        if flags & !u32::from(FIXED_NEWSTYLE | NO_ZEROES) != 0 {
            return Err(Fault::Handshake(flags));
        }
        self.agreed.client = flags as u16;
        self.state = State::Options { seen: 0 };
        Ok(true)
    }

    fn read_option(&mut self, seen: u32) -> Result<bool, Fault> {
        self.wanted = 16;
        let mut at = Cursor(self.input.unused());
        let Some(magic) = at.u64() else { return Ok(false) };
        if magic != OPTION_MAGIC {
            let what = "an option";
            return Err(Fault::Magic { what, expected: OPTION_MAGIC, found: magic });
        }
        let (Some(number), Some(length)) = (at.u32(), at.u32()) else { return Ok(false) };
        if seen >= MOST_OPTIONS {
            return Err(Fault::TooManyOptions(MOST_OPTIONS));
        }
        if number != option::EXPORT_NAME && self.agreed.client & FIXED_NEWSTYLE == 0 {
            return Err(Fault::Option(number));
        }
        if length > LONGEST_OPTION {
            if length > LONGEST_SKIP || number == option::EXPORT_NAME {
                let (what, length) = ("an option", u64::from(length));
                return Err(Fault::TooLong { what, length, limit: u64::from(LONGEST_OPTION) });
            }
            self.input.skip(16);
            self.skip = u64::from(length);
            haggling::too_big(number, &mut self.output);
            self.state = State::Options { seen: seen + 1 };
            return Ok(true);
        }
        let Some(data) = at.bytes(length as usize) else {
            self.wanted = 16 + length as usize;
            return Ok(false);
        };
        let next = haggling::answer(
            (number, data),
            &self.export,
            &mut self.agreed,
            (self.security, self.ends),
            &mut self.output,
        )?;
        self.input.skip(16 + length as usize);
        self.chosen = next == Next::Transmission;
        self.state = match next {
            Next::Option => State::Options { seen: seen + 1 },
            Next::Tls if !self.input.unused().is_empty() => return Err(Fault::ClearAfterStart),
            Next::Tls => State::Handshake { seen: seen + 1 },
            Next::Transmission => State::Transmission,
            Next::End => State::Ended,
        };
        Ok(true)
    }

    #[inline]
    fn read_request(&mut self) -> Result<Step, Fault> {
        let style = self.agreed.style;
        let head = Header::bytes(style);
        self.wanted = head;
        let header = match Header::read(style, self.input.unused()) {
            None => return Ok(Step::Missing),
            Some(Ok(header)) => header,
            Some(Err(found)) => {
                let (expected, found) = (u64::from(Header::magic(style)), u64::from(found));
                return Err(Fault::Magic { what: "a request", expected, found });
            }
        };
        let limit = u64::from(self.export.sizes.most);
        if header.payload > limit {
            let (what, length) = ("a payload", header.payload);
            return Err(Fault::TooLong { what, length, limit });
        }
        if header.is_disconnect() {
            self.input.skip(head);
            self.state = State::Ended;
            return Ok(Step::Found(Found::Leaves));
        }
        let checked = if self.ends {
            Err(Errno::Shutdown)
        } else {
            header.check(style, &self.export, self.agreed.contexts)
        };
        match checked {
            Ok(request) => {
                let whole = head + header.payload as usize;
                if self.input.unused().len() < whole {
                    self.wanted = whole;
                    return Ok(Step::Missing);
                }
                self.input.skip(head);
                Ok(Step::Found(Found::Request(request, header.payload as usize)))
            }
            Err(why) => {
                self.input.skip(head);
                self.skip = header.payload;
                style.failed(&mut self.output, (header.cookie, header.offset), why);
                Ok(Step::Refused)
            }
        }
    }

    /// A request has been carried out, and there is nothing to say about it.
    pub fn done(&mut self, request: &Request) {
        self.agreed.style.done(&mut self.output, request.cookie, request.offset);
    }

    /// A request has not been carried out.
    pub fn failed(&mut self, request: &Request, why: Errno) {
        self.agreed.style.failed(&mut self.output, (request.cookie, request.offset), why);
    }

    /// A read has been carried out: `fill` puts its bytes where it is told.
    ///
    /// # Errors
    /// Those of `fill`; nothing has been said to the client then.
    pub fn data<E>(
        &mut self,
        request: &Request,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.agreed.style.data(&mut self.output, request, fill)
    }

    /// The same with bytes that are at hand.
    pub fn found(&mut self, request: &Request, bytes: &[u8]) {
        self.agreed.style.found(&mut self.output, request, bytes);
    }

    /// Which bytes are allocated, from the request's first byte on. They may end before the request
    /// does, and are cut where they reach beyond it.
    pub fn extents(&mut self, request: &Request, extents: &[Extent]) {
        self.agreed.style.extents(&mut self.output, request, extents);
    }
}

/// A request, and how many bytes of a payload come with it.
enum Found {
    Request(Request, usize),
    Leaves,
}

/// How far it went with a request.
enum Step {
    Found(Found),
    /// It has been answered: it makes no sense.
    Refused,
    /// Bytes are missing.
    Missing,
}
