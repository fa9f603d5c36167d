//! A drive with real bytes, without a server: one program, which is compiled once.

#![cfg(unix)]

mod checkpoints;
#[path = "../common/mod.rs"]
mod common;
mod crashes;
mod damage;
mod drive;
mod glance;
mod mutations;
mod power_cuts;
mod record;
mod unseen;
