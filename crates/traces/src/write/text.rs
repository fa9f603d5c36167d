//! Requests as lines of text.

use std::io::Write;

use eraseblock_core::host::{Op, Request};

/// Writes the lines of one file. Requests hold nothing that the format cannot.
pub(super) trait LineWriter {
    /// Appends what stands before the first request.
    fn header(&mut self, _provenance: &[(String, String)], _out: &mut Vec<u8>) {}

    /// Appends the line of a request, with what has to stand before it.
    fn line(&mut self, request: &Request, out: &mut Vec<u8>);
}

/// A format without a header, each line by itself.
pub(super) struct Plain(pub fn(&Request, &mut Vec<u8>));

impl LineWriter for Plain {
    fn line(&mut self, request: &Request, out: &mut Vec<u8>) {
        self.0(request, out);
    }
}

/// Appends formatted text; a vector takes everything.
macro_rules! put {
    ($out:expr, $($text:tt)*) => {
        write!($out, $($text)*).expect("writing to memory")
    };
}

const SECTOR: u64 = 512;

/// Whole seconds and the ns after them.
fn seconds(ns: u64) -> (u64, u64) {
    (ns / 1_000_000_000, ns % 1_000_000_000)
}

/// `ASU,LBA,size,opcode,timestamp`.
pub(super) fn spc(request: &Request, out: &mut Vec<u8>) {
    let op = if request.op == Op::Read { 'r' } else { 'w' };
    let (s, ns) = seconds(request.arrival_ns);
    put!(out, "{},{},{},{op},{s}.{ns:09}\n", request.volume, request.offset / SECTOR, request.len);
}

/// `time device address size flags`, time in ms.
pub(super) fn disksim(request: &Request, out: &mut Vec<u8>) {
    let (ms, ns) = (request.arrival_ns / 1_000_000, request.arrival_ns % 1_000_000);
    put!(out, "{ms}.{ns:06} ");
    device_to_type(request, out);
}

/// `time device address size type`, time in ns.
pub(super) fn ssdsim(request: &Request, out: &mut Vec<u8>) {
    put!(out, "{} ", request.arrival_ns);
    device_to_type(request, out);
}

fn device_to_type(request: &Request, out: &mut Vec<u8>) {
    let (address, size) = (request.offset / SECTOR, request.len / SECTOR);
    put!(out, "{} {address} {size} {}\n", request.volume, u8::from(request.op == Op::Read));
}

/// `start ; sector ; length ; op ; replay_delay ; replay_duration` after a header of free text.
pub(super) struct Blkreplay;

impl LineWriter for Blkreplay {
    fn header(&mut self, provenance: &[(String, String)], out: &mut Vec<u8>) {
        for (key, value) in provenance {
            put!(out, "eraseblock {key}: {}\n", value.replace(['\n', '\r', ';'], " "));
        }
        put!(out, "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n");
    }

    fn line(&mut self, request: &Request, out: &mut Vec<u8>) {
        let op = match (request.op, request.fua) {
            (Op::Read, _) => "R",
            (Op::Trim, _) => "D",
            (_, true) => "WF",
            (_, false) => "W",
        };
        let (s, ns) = seconds(request.arrival_ns);
        let (sector, length) = (request.offset / SECTOR, request.len / SECTOR);
        put!(out, "{s:4}.{ns:09} ; {sector:10} ; {length:3} ; {op} ; 0.0 ; 0.0\n");
    }
}

/// `timestamp file action [offset length]`; a file is added and opened when its first request
/// comes.
#[derive(Default)]
pub(super) struct FioV3 {
    files: u32,
}

impl LineWriter for FioV3 {
    fn header(&mut self, _provenance: &[(String, String)], out: &mut Vec<u8>) {
        put!(out, "fio version 3 iolog\n");
    }

    fn line(&mut self, request: &Request, out: &mut Vec<u8>) {
        let (us, volume) = (request.arrival_ns / 1000, request.volume);
        while self.files <= volume {
            put!(out, "{us} volume{0} add\n{us} volume{0} open\n", self.files);
            self.files += 1;
        }
        let action = match request.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => {
                put!(out, "{us} volume{volume} sync 0 0\n");
                return;
            }
        };
        put!(out, "{us} volume{volume} {action} {} {}\n", request.offset, request.len);
    }
}
