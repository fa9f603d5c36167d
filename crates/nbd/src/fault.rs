//! What ends a connection.

use thiserror::Error;

/// Why a connection cannot go on: the client has broken the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Fault {
    /// The client's answer to the greeting has flags that the server does not know.
    #[error("the client sent handshake flags {0:#x}, of which the server knows bits 0 and 1")]
    Handshake(u32),
    /// An option or a request begins with another number than it should.
    #[error("the client sent {found:#x} where {expected:#x} begins {what}")]
    Magic {
        /// What was expected.
        what: &'static str,
        /// The number that begins it.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// An option came that this client may not send.
    #[error("option {0} from a client that has not agreed to fixed newstyle negotiation")]
    Option(u32),
    /// The client chose an export that does not exist, by an option that knows no errors.
    #[error(
        "the client chose no export that there is, or by an option that extended headers rule out"
    )]
    NoExport,
    /// More follows than the server is going to read.
    #[error("{what} of {length} bytes follows; the server takes {limit} at most")]
    TooLong {
        /// What follows.
        what: &'static str,
        /// Its length.
        length: u64,
        /// What the server would take.
        limit: u64,
    },
    /// The client chose an export in the clear, by an option that knows no errors.
    #[error("the client chose an export before it began TLS, which this server requires")]
    Clear,
    /// The client did not wait until it could begin TLS: somebody may have put words into its mouth.
    #[error("the client sent more in the clear after it asked for TLS")]
    ClearAfterStart,
    /// Negotiation does not end.
    #[error("the client sent more than {0} options")]
    TooManyOptions(u32),
}
