//! The server's side of the NBD protocol as a state machine: bytes in, requests and bytes out.
//!
//! It reads no socket and knows no drive. Whoever has both gives it what has come
//! ([`Connection::space`], [`Connection::received`]), takes requests from it
//! ([`Connection::next`]), answers them in any order, and sends [`Connection::output`] away.
//!
//! It speaks fixed newstyle negotiation, and in transmission simple, structured and extended
//! replies. A client can make it hold one option or one payload of the largest size announced, and
//! nothing more; what it sends wrong gets the error that the protocol has for it, or ends the
//! connection with a [`Fault`].

pub mod fuzzing;

mod connection;
mod export;
mod fault;
mod haggling;
mod input;
mod reply;
mod request;
mod style;
mod wire;

pub use connection::{Connection, Event};
pub use export::{Export, Sizes};
pub use fault::Fault;
pub use reply::Extent;
pub use request::{Command, Request};
pub use style::{Errno, Style};
