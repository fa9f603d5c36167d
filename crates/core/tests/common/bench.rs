//! An engine on the bench: operations go in at given times, or when others end, and the times of
//! their ends come out.

#![allow(dead_code, reason = "each test file uses its part of this module")]

use eraseblock_core::config::NandConfig;
use eraseblock_core::nand::{Chip, Engine, FlashOp, Geometry, JoinId, Plan, Stored};
use eraseblock_core::support::clocks::NEVER;

/// When an operation is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At this time, in ns; after everything that ends then.
    At(u64),
    /// As soon as operation number so many has ended.
    After(usize),
}

/// An operation of a script.
#[derive(Debug, Clone)]
pub struct Item {
    pub when: When,
    pub op: FlashOp,
    /// It starts only when operation number so many has ended, though it is issued before.
    pub waits_for: Option<usize>,
}

/// An operation issued at a time.
pub fn at(time: u64, op: FlashOp) -> Item {
    Item { when: When::At(time), op, waits_for: None }
}

/// How a script is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Play {
    /// As the engine likes: several steps of an operation may be one event.
    Runs,
    /// Step by step, because the flash's content is followed.
    Steps,
    /// Each page as an operation of its own.
    Pages,
}

/// The times at which the operations of a script end.
pub fn play(nand: &NandConfig, script: &[Item], play: Play) -> Vec<u64> {
    let geometry = Geometry::new(nand).unwrap();
    let mut engine = Engine::new(Chip::new(nand, &geometry).unwrap(), &geometry);
    if play == Play::Steps {
        engine.keep(Stored::compared(&geometry, 1));
    }
    let mut stage =
        Stage { script, play, ends: vec![NEVER; script.len()], joins: Vec::new(), engine };
    for number in 0..script.len() {
        // All joins exist, and are held, from the start: an operation may wait for one that is not
        // issued yet.
        let join = stage.engine.join(number as u32);
        stage.engine.hold(join);
        stage.joins.push(join);
    }
    let mut order: Vec<(u64, usize)> = (0..script.len())
        .filter_map(|n| if let When::At(time) = script[n].when { Some((time, n)) } else { None })
        .collect();
    order.sort_unstable();
    for (time, number) in order {
        stage.run_until(time);
        stage.engine.advance_to(time);
        stage.issue(number);
    }
    stage.run_until(NEVER - 1);
    assert_eq!(stage.engine.under_way(), 0, "operations never ended: {:?}", stage.ends);
    stage.ends
}

struct Stage<'a> {
    script: &'a [Item],
    play: Play,
    ends: Vec<u64>,
    joins: Vec<JoinId>,
    engine: Engine,
}

impl Stage<'_> {
    fn issue(&mut self, number: usize) {
        let Item { op, waits_for, .. } = &self.script[number];
        let join = self.joins[number];
        let mut whole = FlashOp { waiter: join, ..*op };
        if let Some(other) = waits_for
            && self.ends[*other] == NEVER
        {
            whole.waits = self.joins[*other];
        }
        let mut plan = Plan::default();
        if self.play == Play::Pages && op.count > 1 {
            for page in op.page..op.page + op.count {
                plan.ops.push(FlashOp {
                    page,
                    count: 1,
                    array_reads: op.array_reads.min(1),
                    ..whole
                });
            }
        } else {
            plan.ops.push(whole);
        }
        self.engine.issue(&plan);
        self.engine.release(join);
    }

    fn run_until(&mut self, time: u64) {
        let mut finished = Vec::new();
        while self.engine.next_event() <= time && !self.engine.only_starts_at(time) {
            if self.play == Play::Runs && !self.engine.chip().gathers() {
                self.engine.run(time, u64::MAX);
            } else {
                self.engine.step();
            }
            self.engine.take_finished(&mut finished);
            for tag in finished.drain(..) {
                let ended = tag as usize;
                self.ends[ended] = self.engine.now();
                for number in 0..self.script.len() {
                    if self.script[number].when == When::After(ended) {
                        self.issue(number);
                    }
                }
            }
        }
    }
}
