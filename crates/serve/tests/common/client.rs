//! A client of the server: one request after the other, or many at once.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::Host;

/// What a client and its server speak through.
pub trait Wire: Read + Write + Send {}
impl<T: Read + Write + Send> Wire for T {}

/// A connection with structured replies.
pub struct Client {
    stream: Box<dyn Wire>,
    size: u64,
    cookie: u64,
}

/// A request, as commands are numbered.
pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const CACHE: u16 = 5;
pub const ZEROES: u16 = 6;
pub const STATUS: u16 = 7;

fn gone(why: impl std::fmt::Display) -> String {
    format!("the server is gone: {why}")
}

impl Client {
    /// Connects, and chooses the export.
    pub fn connect(socket: &Path) -> Result<Self, String> {
        Self::greet(UnixStream::connect(socket).map_err(gone)?)?.choose()
    }

    /// The same after what `encrypt` makes of the stream, once the server has said that it may.
    pub fn connect_encrypted<T: Read + Write + Send + 'static>(
        socket: &Path,
        encrypt: impl FnOnce(UnixStream) -> T,
    ) -> Result<Self, String> {
        let stream = UnixStream::connect(socket).map_err(gone)?;
        let mut client = Self::greet(stream.try_clone().map_err(gone)?)?;
        client.option(5, b"")?;
        Self { stream: Box::new(encrypt(stream)), ..client }.choose()
    }

    /// Says no more than that it has come.
    pub fn greet(stream: impl Wire + 'static) -> Result<Self, String> {
        let mut client = Self { stream: Box::new(stream), size: 0, cookie: 0 };
        client.take(18)?;
        client.send(&3u32.to_be_bytes())?;
        Ok(client)
    }

    /// Chooses the export.
    pub fn choose(self) -> Result<Self, String> {
        let mut client = self;
        client.option(8, b"")?;
        client.option(10, b"\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation")?;
        for data in client.option(7, &[0; 6])? {
            if data[..2] == [0, 0] {
                client.size = u64::from_be_bytes(data[2..10].try_into().unwrap());
            }
        }
        Ok(client)
    }

    /// Sends an option; what it is answered, before the last word.
    fn option(&mut self, number: u32, data: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let head = [&b"IHAVEOPT"[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes()];
        self.send(&[&head.concat()[..], data].concat())?;
        let mut told = Vec::new();
        loop {
            let head = self.take(20)?;
            let word = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
            let data = self.take(word(16) as usize)?;
            match word(12) {
                1 => return Ok(told),
                kind if kind < 1 << 31 => told.push(data),
                kind => return Err(format!("option {number} was answered by {kind:#x}")),
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream.write_all(bytes).map_err(gone)
    }

    fn take(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; count];
        self.stream.read_exact(&mut bytes).map_err(gone)?;
        Ok(bytes)
    }

    /// Sends a request without waiting for its answer; its number.
    pub fn ask(
        &mut self,
        (command, flags): (u16, u16),
        offset: u64,
        length: u64,
        data: &[u8],
    ) -> Result<u64, String> {
        self.cookie += 1;
        let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
        bytes.extend(flags.to_be_bytes());
        bytes.extend(command.to_be_bytes());
        bytes.extend(self.cookie.to_be_bytes());
        bytes.extend(offset.to_be_bytes());
        bytes.extend((length as u32).to_be_bytes());
        bytes.extend(data);
        self.send(&bytes)?;
        Ok(self.cookie)
    }

    /// The next answer: the request's number, its error, and what was read.
    pub fn answer(&mut self) -> Result<(u64, u32, Vec<u8>), String> {
        let magic = self.take(4)?;
        let word = |bytes: &[u8]| u32::from_be_bytes(bytes[..4].try_into().unwrap());
        let long = |bytes: &[u8]| u64::from_be_bytes(bytes[..8].try_into().unwrap());
        match word(&magic) {
            0x6744_6698 => {
                let rest = self.take(12)?;
                Ok((long(&rest[4..]), word(&rest), Vec::new()))
            }
            0x668e_33ef => {
                let head = self.take(16)?;
                let data = self.take(word(&head[12..]) as usize)?;
                let cookie = long(&head[4..]);
                Ok(match u16::from_be_bytes([head[2], head[3]]) {
                    1 => (cookie, 0, data[8..].to_vec()),
                    0x8001 => (cookie, word(&data), Vec::new()),
                    _ => (cookie, 0, data),
                })
            }
            other => Err(format!("an answer that begins with {other:#x}")),
        }
    }

    /// A request and its answer.
    pub fn call(
        &mut self,
        command: (u16, u16),
        offset: u64,
        length: u64,
        data: &[u8],
    ) -> Result<(u32, Vec<u8>), String> {
        let asked = self.ask(command, offset, length, data)?;
        let (cookie, errno, data) = self.answer()?;
        assert_eq!(cookie, asked);
        Ok((errno, data))
    }

    fn done(
        &mut self,
        command: (u16, u16),
        range: (u64, u64),
        data: &[u8],
    ) -> Result<Vec<u8>, String> {
        match self.call(command, range.0, range.1, data)? {
            (0, data) => Ok(data),
            (errno, _) => Err(format!("{command:?} at {range:?}: error {errno}")),
        }
    }
}

impl Host for Client {
    fn size(&mut self) -> u64 {
        self.size
    }

    fn write(&mut self, offset: u64, data: &[u8], fua: bool) -> Result<(), String> {
        self.done((WRITE, fua.into()), (offset, data.len() as u64), data).map(|_| ())
    }

    fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<(), String> {
        let found = self.done((READ, 0), (offset, data.len() as u64), &[])?;
        data.copy_from_slice(&found);
        Ok(())
    }

    fn trim(&mut self, offset: u64, len: u64) -> Result<(), String> {
        self.done((TRIM, 0), (offset, len), &[]).map(|_| ())
    }

    fn flush(&mut self) -> Result<(), String> {
        self.done((FLUSH, 0), (0, 0), &[]).map(|_| ())
    }
}
