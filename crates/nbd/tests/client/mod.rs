//! A client that says what it is told to.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::sync::Arc;

use eraseblock_nbd::{Connection, Event, Export, Fault, Request, Sizes, Style};

/// A small drive.
pub fn export() -> Arc<Export> {
    Arc::new(Export {
        name: "disk".into(),
        description: "a drive for tests".into(),
        size: 1 << 20,
        read_only: false,
        sizes: Sizes { minimum: 512, preferred: 4096, most: 1 << 20 },
    })
}

/// A server, and what a client has said to it.
pub struct Client {
    pub server: Connection,
    extended: bool,
    cookie: u64,
}

impl Client {
    /// A client that has said nothing.
    pub fn new() -> Self {
        Self { server: Connection::new(export()), extended: false, cookie: 0 }
    }

    /// A client that has answered the greeting.
    pub fn greeted(flags: u32) -> Self {
        Self::new().answering(flags)
    }

    /// The same of a server that requires TLS.
    pub fn greeted_by_tls(flags: u32) -> Self {
        Self { server: Connection::with_tls(export()), ..Self::new() }.answering(flags)
    }

    fn answering(mut self, flags: u32) -> Self {
        let client = &mut self;
        client.send(&flags.to_be_bytes());
        assert_eq!(client.events(), Ok(vec![]));
        client.sent();
        self
    }

    /// A client that has chosen the export, and asks which bytes are allocated.
    pub fn in_transmission(style: Style) -> Self {
        let mut client = Self::greeted(3);
        match style {
            Style::Simple => {}
            Style::Structured => _ = client.option(8, b""),
            Style::Extended => _ = client.option(11, b""),
        }
        if style != Style::Simple {
            client.option(10, b"\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation");
        }
        client.option(7, &[0; 6]);
        client.extended = style == Style::Extended;
        client
    }

    /// Says something.
    pub fn send(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.server.space();
            let count = space.len().min(bytes.len());
            space[..count].copy_from_slice(&bytes[..count]);
            self.server.received(count);
            bytes = &bytes[count..];
        }
    }

    /// What the server takes from what has been said.
    pub fn events(&mut self) -> Result<Vec<(Request, Vec<u8>)>, Fault> {
        let mut events = Vec::new();
        while let Some(event) = self.server.next()? {
            if let Event::Request(request, payload) = event {
                events.push((request, payload.to_vec()));
            }
        }
        Ok(events)
    }

    /// What the server has said.
    pub fn sent(&mut self) -> Vec<u8> {
        std::mem::take(self.server.output())
    }

    /// An option and its answers.
    pub fn option(&mut self, number: u32, data: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let head = [&b"IHAVEOPT"[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes()];
        self.send(&head.concat());
        self.events().unwrap();
        // Data that are passed over may be more than the server wants to hold.
        for part in data.chunks(1000) {
            self.send(part);
            self.events().unwrap();
        }
        let (mut answers, sent) = (Vec::new(), self.sent());
        let mut at = &sent[..];
        while !at.is_empty() {
            assert_eq!(at[..8], 0x0003_e889_0455_65a9_u64.to_be_bytes());
            assert_eq!(at[8..12], number.to_be_bytes());
            let word = |from: usize| u32::from_be_bytes(at[from..from + 4].try_into().unwrap());
            let (kind, length) = (word(12), word(16) as usize);
            answers.push((kind, at[20..20 + length].to_vec()));
            at = &at[20 + length..];
        }
        answers.iter_mut().filter(|answer| answer.0 > 1 << 31).for_each(|answer| answer.1.clear());
        answers
    }

    /// Sends a request as it is told.
    pub fn ask_raw(&mut self, command: u16, flags: u16, offset: u64, length: u64, payload: &[u8]) {
        self.cookie += 1;
        let magic: u32 = if self.extended { 0x21e4_1c71 } else { 0x2560_9513 };
        let mut head = magic.to_be_bytes().to_vec();
        head.extend(flags.to_be_bytes());
        head.extend(command.to_be_bytes());
        head.extend(self.cookie.to_be_bytes());
        head.extend(offset.to_be_bytes());
        if self.extended {
            head.extend(length.to_be_bytes());
        } else {
            head.extend((length as u32).to_be_bytes());
        }
        head.extend(payload);
        self.send(&head);
    }

    /// Sends a request, and says what comes of it.
    pub fn ask(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        length: u64,
        payload: &[u8],
    ) -> Result<Vec<(Request, Vec<u8>)>, Fault> {
        let payload_flag = if self.extended && command == 1 { 0x20 } else { 0 };
        self.ask_raw(command, flags | payload_flag, offset, length, payload);
        self.events()
    }

    /// The error in the one answer that has come.
    pub fn errno(&mut self) -> u32 {
        let sent = self.sent();
        let word = |at: usize| u32::from_be_bytes(sent[at..at + 4].try_into().unwrap());
        match sent.len() {
            16 => word(4),
            26 => word(20),
            38 => word(32),
            length => panic!("{length} bytes are no error: {sent:?}"),
        }
    }
}
