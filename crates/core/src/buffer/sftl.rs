//! S-FTL's write buffers: one for long requests, one for short ones.
//!
//! **What it does.** It takes in writes alone, and divides its pages: `sequential_share` of them
//! for the sequential class, the rest for the random one. A request that writes more than
//! `threshold` pages is sequential. Each class has its own list of blocks in the order of their
//! last write. A block is in one of them: a request of the other class takes it along, with the
//! pages that are held of it. A class that has no room left lets blocks go from its end: the random
//! one the block written longest ago, the sequential one that block and all others of its *chain*
//! that it holds (`together`): a chain is as many adjacent logical blocks as there are channels,
//! one for each. Reads are served where the buffer has the page, move nothing and allocate
//! nothing.
//!
//! Each block goes with the hint which class it was in; the FTL `sftl` treats them apart.
//!
//! **When it wins**: long and short requests side by side. **When it loses**: one kind alone, which
//! leaves the room of the other unused.
//!
//! S.-H. Park et al., "A pattern adaptive NAND flash memory storage structure", IEEE Trans.
//! Computers 61(1), 2012; as told by Kim, Park and Youn 2017 (SUPA), section 3.3.
//!
//! **Where the paper is silent**, as far as it could be read: how the room is divided
//! (`sequential_share`, rounded to a page), what leaves together (`together`; the blocks of a chain
//! leave upwards), and what becomes of buffered pages whose block changes its class: they change
//! it, too. Room is made before the written block moves to the front, but after it has changed its
//! class. A class always has room for a page. A flush command empties both in the order in which
//! they would make room, chains together, the sequential class first; forced unit access sends its
//! block.
//!
//! Cost of a page access: O(1); of an eviction O(pages of the blocks that leave).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::{Directory, require_room, require_share};
use super::{Action, Answer, Buffer, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View};
use crate::pattern::{Access, Hint, Pattern};
use crate::support::NONE;
use crate::support::ids::{LogicalBlock, Lpn};
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "S-FTL buffer",
    summary: "Two write buffers in block LRU order, for long and for short requests; chained \
        blocks leave together.",
    paper: "Park et al., A pattern adaptive NAND flash memory storage structure, IEEE TC 61(1)",
    year: Some(2012),
    reconstruction: true,
    choices: &[
        Choice {
            option: "sequential_share",
            others: &["0.25", "0.75"],
            open: "how the room is divided between the classes",
        },
        Choice {
            option: "together",
            others: &[r#""block""#],
            open: "whether all blocks of a chain leave together",
        },
    ],
    examples: &[Example {
        source: "",
        shows: "Pages 0 to 4 come in one request, which is long, and so are 8 to 12; page 40 is a \
            short one. The next long request finds its half full: block 0 leaves (on more than one \
            channel its whole chain), and page 40 stays.",
        capacity: 20,
        pages_per_block: 8,
        options: "",
        requests: "W 0-4, W 8-12, W 40, W 48-52",
    }],
    source: include_str!("sftl.rs"),
    ..About::PLAIN
};

/// What leaves the sequential class at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Together {
    /// The block written longest ago, and all of its chain.
    #[default]
    Chain,
    /// That block alone.
    Block,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// A request of more pages than this is sequential.
    pub threshold: u32,
    /// Share of the pages that the sequential class may hold.
    pub sequential_share: f64,
    /// What leaves the sequential class at once.
    pub together: Together,
}

impl Default for Config {
    fn default() -> Self {
        Self { threshold: 4, sequential_share: 0.5, together: Together::Chain }
    }
}

/// The classes.
const RANDOM: usize = 0;
const SEQUENTIAL: usize = 1;

const REASONS: [Reason; 2] =
    ["least recently written random block", "least recently written chain"];

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page of each class, or impossible options.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_room(shape, 2)?;
        require_share("sequential_share", self.sequential_share)?;
        let asked = libm::round(f64::from(shape.capacity) * self.sequential_share) as u32;
        let sequential = asked.clamp(1, shape.capacity - 1);
        let blocks = Directory::new(shape);
        Ok(Box::new(Sftl {
            config: self.clone(),
            class_of: vec![0; blocks.nodes()],
            links: Links::new(blocks.nodes()),
            classes: [shape.capacity - sequential, sequential].map(|most| Class {
                order: List::default(),
                pages: 0,
                most,
            }),
            request: (u64::MAX, 0),
            chain: 1,
            blocks,
        }))
    }
}

/// One of the two buffers.
#[derive(Debug)]
struct Class {
    /// Blocks by their last write.
    order: List,
    pages: u32,
    /// Pages that it may hold.
    most: u32,
}

#[derive(Debug)]
struct Sftl {
    config: Config,
    blocks: Directory,
    /// Class of each node.
    class_of: Vec<u8>,
    links: Links,
    classes: [Class; 2],
    /// A request, and how many pages it writes.
    request: (u64, u32),
    /// Channels of the drive.
    chain: u32,
}

impl Sftl {
    fn class(&self, node: u32) -> usize {
        usize::from(self.class_of[node as usize])
    }

    /// The class of a request that writes this span.
    fn classify(&self, span: &Span) -> usize {
        let (request, pages) = self.request;
        let length = if request == span.request { pages } else { span.count };
        if length > self.config.threshold { SEQUENTIAL } else { RANDOM }
    }

    /// A block leaves.
    fn evict_block(&mut self, node: u32, reason: Reason, out: &mut Outcome) {
        let number = self.class(node);
        let written = if number == SEQUENTIAL { Access::Sequential } else { Access::Random };
        let pattern = Pattern::new(written, Access::Never);
        let hint = Hint { block: self.blocks.lbn(node), pattern, channel: None, again: false };
        let class = &mut self.classes[number];
        class.order.remove(&mut self.links, node);
        class.pages -= self.blocks.pages(node);
        self.blocks.evict(node, Action::Evict, reason, out);
        out.with_hint(hint);
    }

    /// What has been written longest ago of a class leaves.
    fn evict(&mut self, class: usize, reason: Reason, out: &mut Outcome) {
        let node = self.classes[class].order.back();
        if class == RANDOM || self.config.together == Together::Block {
            return self.evict_block(node, reason, out);
        }
        let first = self.blocks.lbn(node).0 / self.chain * self.chain;
        let last = (first + self.chain).min(self.blocks.logical_blocks() as u32);
        for lbn in first..last {
            let node = self.blocks.node(LogicalBlock(lbn));
            if node != NONE && self.class(node) == class {
                self.evict_block(node, reason, out);
            }
        }
    }

    /// The block of a page is written by a request of `class`, and is the most recent one of that.
    fn raise(&mut self, node: u32, class: usize) {
        let old = self.class(node);
        let pages = self.blocks.pages(node);
        self.classes[old].order.remove(&mut self.links, node);
        self.classes[old].pages -= pages;
        self.classes[class].order.push_front(&mut self.links, node);
        self.classes[class].pages += pages;
        self.class_of[node as usize] = class as u8;
    }

    /// Room for `pages` more of a class.
    fn make_room(&mut self, class: usize, pages: u32, out: &mut Outcome) {
        while self.classes[class].pages + pages > self.classes[class].most {
            self.evict(class, REASONS[class], out);
        }
    }

    fn write(&mut self, lpn: Lpn, class: usize, out: &mut Outcome) -> Answer {
        let lbn = self.blocks.block_of(lpn);
        let node = self.blocks.node(lbn);
        if node != NONE && self.class(node) != class {
            self.raise(node, class);
            self.make_room(class, 0, out);
        }
        if self.blocks.holds(lpn) {
            self.raise(self.blocks.node(lbn), class);
            return Answer::Hit;
        }
        self.make_room(class, 1, out);
        let (node, fresh) = self.blocks.insert(lpn, true);
        self.classes[class].pages += 1;
        if fresh {
            self.class_of[node as usize] = class as u8;
            self.classes[class].order.push_front(&mut self.links, node);
        } else {
            self.raise(node, class);
        }
        Answer::Insert
    }
}

impl Buffer for Sftl {
    fn writes(&mut self, request: u64, pages: u32) {
        self.request = (request, pages);
    }

    fn access(&mut self, span: &Span, view: &dyn View, out: &mut Outcome) {
        self.chain = view.channels();
        let class = if span.write { self.classify(span) } else { RANDOM };
        for lpn in span.pages() {
            let answer = if span.write {
                self.write(lpn, class, out)
            } else if self.blocks.holds(lpn) {
                Answer::Hit
            } else {
                Answer::Bypass
            };
            out.answers.push(answer);
        }
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        let mut pages = first..first + count;
        while let Some((_, node, gone)) = self.blocks.remove_next(&mut pages) {
            let class = self.class(node);
            self.classes[class].pages -= 1;
            if gone {
                self.classes[class].order.remove(&mut self.links, node);
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        for class in [SEQUENTIAL, RANDOM] {
            while !self.classes[class].order.is_empty() {
                self.evict(class, FLUSH_COMMAND, out);
            }
        }
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        if first.run(count).any(|lpn| self.blocks.holds(lpn)) {
            self.evict_block(self.blocks.node_of(first), FORCED, out);
        }
    }

    fn classifies_writes(&self) -> bool {
        true
    }

    fn len(&self) -> u32 {
        self.blocks.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.blocks.holds(lpn)
    }

    fn check(&self) -> Result<(), String> {
        for (number, class) in self.classes.iter().enumerate() {
            let pages: u32 =
                class.order.iter(&self.links).map(|node| self.blocks.pages(node)).sum();
            let strangers =
                class.order.iter(&self.links).filter(|&node| self.class(node) != number).count();
            if pages != class.pages || pages > class.most || strangers > 0 {
                return Err(format!(
                    "sftl: class {number} counts {} of {} pages, its blocks hold {pages}, \
                     {strangers} of them are not its own",
                    class.pages, class.most
                ));
            }
        }
        let all = self.classes.iter().flat_map(|class| class.order.iter(&self.links));
        self.blocks.check(all).map_err(|problem| format!("sftl: {problem}"))
    }

    fn metadata_bytes(&self) -> usize {
        self.blocks.bytes() + self.links.bytes() + self.class_of.len()
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        let pages = |node| self.blocks.iter(node).map(|page| page.lpn).collect();
        self.classes.iter().flat_map(|class| class.order.iter(&self.links)).map(pages).collect()
    }
}
