//! A simulated drive with real bytes: its image, and the server that offers it to NBD clients.

#![cfg(unix)]

mod checkpoints;
mod counts;
mod drive;
mod error;
mod found;
mod image;
mod logical;
mod priority;
mod ram;
mod record;
mod server;
mod share;
mod store;

pub use drive::{Checked, Drive, Failure, Finished, Glance, Info, Scrubbed, Unfinished};
pub use error::Error;
pub use found::{Damage, Found};
pub use image::{Event, Starved, State, Stop, Tape};
pub use record::Recorder;
pub use server::{Address, Ended, Http, Options, Ready, Tls, serve};
