//! What has to hold whatever a client says.

use std::sync::Arc;

use crate::{Command, Connection, Errno, Event, Export, Extent, Fault, Request, Sizes};

/// Bytes that a connection may hold of what has come: one option or payload, and as much again.
const MOST_HELD: usize = 4 << 20;

/// Ways to begin: from the greeting on, or with everything agreed on in one of three styles; and
/// the same with a server that requires TLS, after it has begun.
pub const BEGINNINGS: [&[u8]; 8] = [
    b"",
    b"\0\0\0\x03IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0",
    b"\0\0\0\x03IHAVEOPT\0\0\0\x08\0\0\0\0\
      IHAVEOPT\0\0\0\x0a\0\0\0\x1b\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation\
      IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0",
    b"\0\0\0\x03IHAVEOPT\0\0\0\x0b\0\0\0\0\
      IHAVEOPT\0\0\0\x0a\0\0\0\x1b\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation\
      IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0",
    b"",
    b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0",
    b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0IHAVEOPT\0\0\0\x08\0\0\0\0\
      IHAVEOPT\0\0\0\x0a\0\0\0\x1b\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation\
      IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0",
    b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0IHAVEOPT\0\0\0\x0b\0\0\0\0\
      IHAVEOPT\0\0\0\x0a\0\0\0\x1b\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation\
      IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0",
];
/// The first that is for a server which requires TLS.
pub const WITH_TLS: usize = 4;

/// What came of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Requests, and how many bytes came with each.
    pub requests: Vec<(Request, usize)>,
    /// All that the server said.
    pub said: Vec<u8>,
    /// How it ended, if it did.
    pub fault: Option<Fault>,
    /// The client left.
    pub left: bool,
    /// TLS began after so many of the client's bytes.
    pub tls_at: Option<usize>,
}

/// A client says `bytes` after one of the [`BEGINNINGS`], and the server answers everything. It has
/// to come to the same whether the bytes come at once or in pieces of `piece` bytes. With TLS what
/// comes after its beginning stands for what has been decrypted; in the clear it is refused.
///
/// # Panics
/// It does not, or a promise is broken.
pub fn converse(beginning: usize, bytes: &[u8], piece: usize) -> Outcome {
    let beginning = beginning % BEGINNINGS.len();
    let all = [BEGINNINGS[beginning], bytes].concat();
    let tls = beginning >= WITH_TLS;
    // Byte by byte none is behind the wish to begin TLS when the server reads that.
    let bytewise =
        if tls { listen(&all, tls, 1, None) } else { listen(&all, tls, all.len(), None) };
    let pieces = listen(&all, tls, piece, bytewise.tls_at);
    assert_eq!(bytewise, pieces, "it matters how the bytes come");
    if let Some(at) = bytewise.tls_at
        && at < all.len()
    {
        let impatient = listen(&all, tls, all.len(), None);
        assert_eq!(impatient.fault, Some(Fault::ClearAfterStart));
        assert!(impatient.requests.is_empty(), "a request was taken in the clear");
    }
    bytewise
}

const DESCRIPTION: &str = "a drive";

fn export() -> Export {
    Export {
        name: "disk".into(),
        description: DESCRIPTION.into(),
        size: 1 << 30,
        read_only: false,
        sizes: Sizes { minimum: 512, preferred: 4096, most: 1 << 20 },
    }
}

/// What comes of `bytes` in pieces of `piece`, of which one ends at `border`.
fn listen(all: &[u8], tls: bool, piece: usize, border: Option<usize>) -> Outcome {
    let export = Arc::new(export());
    assert_eq!(export.check(), Ok(()));
    let begin = if tls { Connection::with_tls } else { Connection::new };
    let mut server = begin(Arc::clone(&export));
    let mut outcome =
        Outcome { requests: Vec::new(), said: Vec::new(), fault: None, left: false, tls_at: None };
    let mut bytes = all;
    while !bytes.is_empty() && !server.has_ended() {
        let space = server.space();
        assert!(!space.is_empty(), "there has to be room for what comes");
        let before = all.len() - bytes.len();
        let border = border.filter(|&border| border > before).map_or(usize::MAX, |b| b - before);
        let count = space.len().min(piece.max(1)).min(bytes.len()).min(border);
        space[..count].copy_from_slice(&bytes[..count]);
        server.received(count);
        bytes = &bytes[count..];
        assert!(server.held() <= MOST_HELD, "{} bytes held", server.held());
        loop {
            let request = match server.next() {
                Ok(Some(Event::Request(request, payload))) => {
                    outcome.requests.push((request, payload.len()));
                    check(&export, &request, payload);
                    Some(request)
                }
                Ok(Some(Event::Leaves)) => {
                    outcome.left = true;
                    None
                }
                Ok(None) => None,
                Err(fault) => {
                    outcome.fault = Some(fault);
                    None
                }
            };
            if let Some(request) = &request {
                answer(&mut server, request);
            }
            // Options that were held up by their answers may go on once these are sent.
            let said = server.output().len();
            outcome.said.append(server.output());
            if server.waits_for_tls() {
                server.has_begun_tls();
                outcome.tls_at = Some(all.len() - bytes.len());
                let shown = outcome.said.windows(DESCRIPTION.len());
                assert!(shown.filter(|said| *said == DESCRIPTION.as_bytes()).count() == 0);
                assert!(outcome.requests.is_empty(), "a request was taken in the clear");
            } else if request.is_none() && said == 0 {
                break;
            }
        }
        if tls && outcome.tls_at.is_none() {
            assert!(!server.is_in_transmission(), "an export was chosen in the clear");
        }
        assert!(outcome.fault.is_none() || server.has_ended());
    }
    outcome
}

/// A request that is handed on makes sense.
fn check(export: &Export, request: &Request, payload: &[u8]) {
    let end = request.offset.checked_add(request.length).expect("an end");
    assert!(end <= export.size);
    assert_eq!((request.offset | request.length) % u64::from(export.sizes.minimum), 0);
    let written = if request.command == Command::Write { request.length } else { 0 };
    assert_eq!(payload.len() as u64, written);
    if matches!(request.command, Command::Read | Command::Write) {
        assert!(request.length <= u64::from(export.sizes.most));
    }
}

fn answer(server: &mut Connection, request: &Request) {
    match request.command {
        Command::Read => {
            let filled = server.data(request, |bytes| {
                bytes.fill(7);
                if request.offset == 512 { Err(()) } else { Ok(()) }
            });
            if filled.is_err() {
                server.failed(request, Errno::Io);
            }
        }
        Command::BlockStatus { .. } => {
            let extents = [4096, 1 << 33].map(|length| Extent { length, hole: length == 4096 });
            server.extents(request, &extents);
        }
        _ => server.done(request),
    }
}
