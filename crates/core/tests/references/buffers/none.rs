//! No buffer at all.

use eraseblock_core::buffer::{Shape, Span, View};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference { scheme: "none", from: "its page: every request goes straight to flash", least_capacity: 1, pair }
}

fn pair(_: Shape, _: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    (json!({"kind": "none"}), Box::new(None))
}

struct None;

impl Buffer for None {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        Decisions { hits: vec![false; span.count as usize], left: Vec::new() }
    }

    fn trim(&mut self, _: u32) {}

    fn flush(&mut self) -> Decisions {
        Decisions::default()
    }

    fn force(&mut self, _: u32, _: u32) -> Decisions {
        Decisions::default()
    }
}
