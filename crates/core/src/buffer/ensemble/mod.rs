//! ENSEMBLE: several schemes are tried beside one another in tables alone, each above a drive in
//! miniature; the buffer does what the one does that would have made the host wait least.
//!
//! **What it does.** Every request goes to all *experts*, which are schemes of this list. Each has
//! its own tables and a *model* of the drive: how long the units would work for what the expert
//! reads and writes, with the merges or the collection that the FTL would need. Before each request
//! the expert that has cost least becomes the *leader*; the first one has a head start. The buffer
//! holds the pages, and follows: what the leader lets go of leaves, in the same company and with
//! the same hint. What the buffer holds and a new leader does not is a *stray*: it leaves when
//! there is no more room than the leader has, a block at a time, so that a change of leader moves
//! nothing.
//!
//! **When it wins**: where it is not known which scheme suits the work or the FTL, and where that
//! changes. **When it loses**: buffers that the work fills only a few times, as there is nothing to
//! learn from; FTLs of which it has no model (`pattern`, `replacement`), where the first expert
//! leads for good; and where the model errs.
//!
//! A scheme of eraseblock's own. [How it came about, its rules in full, and what it
//! guarantees](../own.md#the-ensemble).
//!
//! Cost of a page access: that of all experts and of their models, and O(1) for following. Where
//! the buffer is large, experts and models see one of 4, 8, 16 and so on logical blocks (`sample`).
//! A change of leader looks at each page held once.

pub mod choice;
pub mod expert;
pub mod held;
pub mod model;
pub mod sample;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::require_room;
use super::{Buffer, BufferConfig, Outcome, Part, Shape, Span, View};
use crate::support::ids::Lpn;
use crate::support::registry::{About, Cost, Example};
use crate::upkeep::Upkeep;
use choice::Choice;
use expert::Expert;
use held::Held;
use sample::{Sample, Seen};

/// What `list` says.
pub const ABOUT: About = About {
    title: "ensemble",
    summary: "Does what the one of several schemes does that would have cost least so far, as \
        tables and a small model of the drive tell.",
    examples: &[Example {
        source: "",
        shows: "With one expert the buffer does what that scheme does: FAB lets block 0 go, which \
            has most pages.",
        capacity: 6,
        pages_per_block: 4,
        options: r#"{"experts": ["fab"]}"#,
        requests: "W 0-2, W 4, W 8, W 9, W 12",
    }],
    cost: Cost::Logarithmic,
    weighs_times: true,
    source: include_str!("mod.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Names of the schemes that are tried, the one to begin with first. Default: by what the FTL
    /// maps.
    pub experts: Option<Vec<String>>,
    /// How far ahead another scheme has to be, in the price of writing the whole buffer once.
    pub patience: f64,
    /// When the best scheme has cost so many times that price, what is known of the past counts for
    /// half from then on.
    pub window: f64,
    /// How much better another scheme than the first has to be.
    pub caution: f64,
    /// Pages that a scheme which is tried holds at least: where the buffer has four times as many
    /// or more, it is tried on a sample of the logical blocks, one of 4, 8, 16 and so on.
    pub sample: u32,
    /// Of the draw of handicaps.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { experts: None, patience: 0.3, window: 64.0, caution: 0.04, sample: 512, seed: 1 }
    }
}

/// Where the FTL maps blocks.
pub const OVER_BLOCKS: &[&str] = &["cold-groups", "cave", "gb", "clc"];
/// Where it maps pages.
pub const OVER_PAGES: &[&str] = &["cold-groups", "lru"];

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, an expert that is none, or an impossible number.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_room(shape, 1)?;
        self.check()?;
        // The leader is there once more above a sample, so that one of two would save nothing.
        let is_only = self.experts.as_ref().is_some_and(|names| names.len() == 1);
        let every = match (shape.capacity / self.sample).max(1).ilog2() {
            power @ 2.. if !is_only => 1 << power,
            _ => 1,
        };
        let sample = Sample::new(every, shape);
        let named = |name: &str| Expert::new(expert(name)?, sample);
        let candidates = if let Some(names) = &self.experts {
            vec![names.iter().map(|name| named(name)).collect::<Result<Vec<_>, String>>()?]
        } else {
            // A buffer of a few pages is too small for some.
            let able = |names: &[&str]| names.iter().filter_map(|name| named(name).ok()).collect();
            vec![able(OVER_PAGES), able(OVER_BLOCKS)]
        };
        Ok(Box::new(Ensemble {
            config: self.clone(),
            shape,
            candidates,
            experts: Vec::new(),
            choice: None,
            sample,
            seen: false,
            is_sampled: every > 1,
            whole: None,
            held: Held::new(shape),
            request: u64::MAX,
        }))
    }

    fn check(&self) -> Result<(), String> {
        if self.experts.as_ref().is_some_and(Vec::is_empty) {
            return Err("buffer.scheme.experts: found no name, expected at least one".into());
        }
        if self.sample == 0 {
            return Err("buffer.scheme.sample: found 0, expected at least 1 page".into());
        }
        let numbers = [
            ("patience", self.patience, 0.0),
            ("caution", self.caution, 0.0),
            ("window", self.window, 1.0),
        ];
        for (option, found, least) in numbers {
            if !(least..=1e9).contains(&found) {
                return Err(format!(
                    "buffer.scheme.{option}: found {found}, expected {least} to 1000000000"
                ));
            }
        }
        Ok(())
    }
}

/// A scheme that can be tried.
fn expert(name: &str) -> Result<BufferConfig, String> {
    let can = |name: &&str| !matches!(*name, "opt" | "ensemble");
    BufferConfig::by_name(name).filter(|_| can(&name)).ok_or_else(|| {
        let names: Vec<&str> = BufferConfig::NAMES.iter().copied().filter(can).collect();
        format!("buffer.scheme.experts: found `{name}`, expected names out of {}", names.join(", "))
    })
}

#[derive(Debug)]
struct Ensemble {
    config: Config,
    shape: Shape,
    /// Until the FTL has been asked.
    candidates: Vec<Vec<Expert>>,
    experts: Vec<Expert>,
    choice: Option<Choice>,
    sample: Sample,
    /// Experts have seen something since the last turn.
    seen: bool,
    /// Experts see a sample, so that the leader has to be there once more, over the whole drive.
    is_sampled: bool,
    whole: Option<(Box<dyn Buffer>, Outcome)>,
    held: Held,
    request: u64,
}

impl Ensemble {
    /// Finds out what is below.
    #[cold]
    fn ask(&mut self, view: &dyn View) {
        let at = usize::from(self.candidates.len() > 1 && !view.maps_pages());
        self.experts = self.candidates.swap_remove(at);
        if view.upkeep() == Upkeep::Unknown && self.config.experts.is_none() {
            // Without a model of the FTL nobody can be judged.
            self.experts.truncate(1);
        }
        self.candidates = Vec::new();
        if let [only] = &mut self.experts[..] {
            // Who leads for good is not judged: neither from a sample nor by a model. That the new one
            // was told nothing of this request matters to no scheme that nobody named.
            if self.is_sampled
                && let Ok(whole) = only.unsampled(self.shape)
            {
                *only = whole;
                self.sample = Sample::new(1, self.shape);
                self.is_sampled = false;
            }
        } else {
            self.experts.iter_mut().for_each(|expert| expert.put_on(view));
        }
        let price = f64::from(self.shape.capacity) * view.times().program as f64
            / f64::from(view.units().max(1));
        let Config { patience, window, caution, seed, .. } = self.config;
        let choice = Choice::new(self.experts.len(), price, (patience, window, caution), seed);
        let leader = choice.leader();
        self.choice = Some(choice);
        self.lead(leader, view);
    }

    /// Another expert leads from now on.
    fn lead(&mut self, leader: usize, view: &dyn View) {
        if self.is_sampled
            && let Ok(mut buffer) = self.experts[leader].build(self.shape)
        {
            let mut out = Outcome::default();
            for (request, page) in self.held.oldest_first().enumerate() {
                out.clear();
                let span =
                    Span { first: page.lpn, count: 1, write: page.dirty, request: request as u64 };
                buffer.access(&span, view, &mut out);
            }
            out.clear();
            self.whole = Some((buffer, out));
        }
        let leader = match &self.whole {
            Some((buffer, _)) => &**buffer,
            None => self.experts[leader].buffer(),
        };
        self.held.lead(leader);
    }

    /// A request begins: those before are reckoned up, if the experts have seen any of them.
    fn turn(&mut self, view: &dyn View) {
        let Some(choice) = &mut self.choice else { return };
        let before = choice.leader();
        let totals = self.experts.iter_mut().map(Expert::begin);
        let leader = choice.turn(totals);
        if leader != before {
            self.lead(leader, view);
        }
    }

    /// Experts serve a span of the sample, above the drive as it looks from there.
    fn try_sampled(&mut self, span: &Span, view: &dyn View) {
        if let Some(span) = self.sample.span(span) {
            self.seen = true;
            let seen = Seen { view, sample: self.sample };
            self.experts.iter_mut().for_each(|expert| expert.access(&span, &seen));
        }
    }

    /// What leads, and what it decided last; nothing before the first access.
    fn leader(&self) -> Option<(&dyn Buffer, &Outcome)> {
        if let Some((buffer, out)) = &self.whole {
            return Some((&**buffer, out));
        }
        let expert = &self.experts[self.choice.as_ref()?.leader()];
        Some((expert.buffer(), expert.out()))
    }
}

impl Buffer for Ensemble {
    fn access(&mut self, span: &Span, view: &dyn View, out: &mut Outcome) {
        if self.choice.is_none() {
            self.ask(view);
        }
        if span.request != self.request {
            self.request = span.request;
            if std::mem::take(&mut self.seen) && self.experts.len() > 1 {
                self.turn(view);
            }
        }
        if self.is_sampled {
            self.try_sampled(span, view);
        } else {
            self.seen = true;
            self.experts.iter_mut().for_each(|expert| expert.access(span, view));
        }
        if let Some((buffer, out)) = &mut self.whole {
            out.clear();
            buffer.access(span, view, out);
        }
        let Self { whole, experts, choice, held, .. } = self;
        let (buffer, theirs) = match whole {
            Some((buffer, theirs)) => (&**buffer, theirs),
            None => experts[choice.as_ref().map_or(0, Choice::leader)].buffer_and_out(),
        };
        if held.copy(span, theirs) {
            out.swap_decisions(theirs);
        } else {
            held.follow(span, theirs, buffer.len(), out);
        }
    }

    fn writes(&mut self, request: u64, pages: u32) {
        self.experts.iter_mut().for_each(|expert| expert.writes(request, pages));
        if let Some((buffer, _)) = &mut self.whole {
            buffer.writes(request, pages);
        }
        if self.choice.is_none() {
            let candidates = self.candidates.iter_mut().flatten();
            candidates.for_each(|expert| expert.writes(request, pages));
        }
    }

    fn writes_part(&mut self, lpn: Lpn, part: Part) {
        self.experts.iter_mut().for_each(|expert| expert.writes_part(lpn, part));
        if let Some((buffer, _)) = &mut self.whole {
            buffer.writes_part(lpn, part);
        }
        if self.choice.is_none() {
            let candidates = self.candidates.iter_mut().flatten();
            candidates.for_each(|expert| expert.writes_part(lpn, part));
        }
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        self.experts.iter_mut().for_each(|expert| expert.trim(first, count));
        if let Some((buffer, _)) = &mut self.whole {
            buffer.trim(first, count);
        }
        self.held.trim(first, count);
    }

    fn flush(&mut self, out: &mut Outcome) {
        self.experts.iter_mut().for_each(Expert::flush);
        self.seen = true;
        if let Some((buffer, out)) = &mut self.whole {
            out.clear();
            buffer.flush(out);
        }
        let Self { whole, experts, choice, held, .. } = self;
        let Some(leader) = choice.as_ref().map(Choice::leader) else { return };
        match whole {
            Some((buffer, theirs)) => held.flush(&**buffer, theirs, out),
            None => held.flush(experts[leader].buffer(), experts[leader].out(), out),
        }
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        self.experts.iter_mut().for_each(|expert| expert.force(first, count));
        self.seen = true;
        if let Some((buffer, out)) = &mut self.whole {
            out.clear();
            buffer.flush_pages(first, count, out);
        }
        let Self { whole, experts, choice, held, .. } = self;
        let Some(leader) = choice.as_ref().map(Choice::leader) else { return };
        match whole {
            Some((buffer, theirs)) => held.force((first, count), &**buffer, theirs, out),
            None => {
                held.force((first, count), experts[leader].buffer(), experts[leader].out(), out);
            }
        }
    }

    fn len(&self) -> u32 {
        self.held.table().len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.held.table().find(lpn).is_some()
    }

    fn check(&self) -> Result<(), String> {
        for expert in &self.experts {
            expert.buffer().check()?;
        }
        let Some((leader, _)) = self.leader() else { return Ok(()) };
        leader.check()?;
        self.held.check(leader).map_err(|fault| format!("ensemble: {fault}"))
    }

    fn metadata_bytes(&self) -> usize {
        let all = self.experts.iter().chain(self.candidates.iter().flatten());
        let rooms =
            self.experts.capacity() + self.candidates.iter().map(Vec::capacity).sum::<usize>();
        let whole = |(buffer, out): &(Box<dyn Buffer>, Outcome)| {
            size_of_val(&**buffer) + buffer.metadata_bytes() + expert::bytes_of(out)
        };
        all.map(Expert::bytes).sum::<usize>()
            + rooms * size_of::<Expert>()
            + self.held.bytes()
            + self.choice.as_ref().map_or(0, Choice::bytes)
            + self.whole.as_ref().map_or(0, whole)
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        let table = self.held.table();
        self.held.slots().into_iter().map(|slot| vec![table.get(slot).lpn]).collect()
    }
}
