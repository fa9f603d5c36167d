//! What is drawn for an array, and which page lies where.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

/// What is drawn for an array, in pages and ns.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a chip, each for itself")]
pub struct Array {
    pub channels: u32,
    pub chips: u32,
    pub dies: u32,
    pub planes: u32,
    pub pages_per_block: u32,
    pub pages_per_program: u32,
    /// Mapped pages of a flash page.
    pub mapped: u32,
    pub multi_plane: bool,
    pub shared_bus: bool,
    pub read_first: bool,
    pub shadow: bool,
    /// A time for each type of page.
    pub read: Vec<u64>,
    pub program: Vec<u64>,
    pub transfer: u64,
    pub command: u64,
    pub cache: Option<u64>,
    pub suspend: Option<Suspend>,
    pub together: Option<Together>,
    pub order: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub struct Suspend {
    pub program: bool,
    pub latency: u64,
    pub resume: u64,
    pub at_most: u32,
}

/// Two-plane commands.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a chip, each for itself")]
pub struct Together {
    pub read: bool,
    pub program: bool,
    pub all: bool,
    pub same_page: bool,
    pub same_block: bool,
    pub lookahead: usize,
    /// tDBSY, in ns.
    pub delay: u64,
}

impl Array {
    pub fn draw(random: &mut Pcg64Mcg) -> Self {
        let special = random.random_range(0..5);
        let together = (special == 2).then(|| Together {
            read: random.random_range(0..3) > 0,
            program: random.random_range(0..3) > 0,
            all: random.random(),
            same_page: random.random(),
            same_block: random.random(),
            lookahead: [1, 2, 3, 64][random.random_range(0..4)],
            delay: [0, 503][random.random_range(0..2)],
        });
        // Planes that work together are suspended together.
        let suspends = special == 1 || together.is_some() && random.random_range(0..3) == 0;
        let suspend = suspends.then(|| Suspend {
            program: random.random_range(0..4) > 0,
            latency: [0, 20_011][random.random_range(0..2)],
            resume: [0, 5_003][random.random_range(0..2)],
            at_most: random.random_range(1..4),
        });
        let types = random.random_range(1..=3);
        let multi_plane = together.is_none() && random.random_range(0..3) == 0;
        let pages_per_program = if types == 1 { random.random_range(1..=3) } else { 1 };
        Self {
            channels: random.random_range(1..=2),
            chips: random.random_range(1..=2),
            dies: random.random_range(1..=2),
            planes: if together.is_some() {
                2 << random.random_range(0..2)
            } else {
                random.random_range(1..=2)
            },
            pages_per_block: 12,
            pages_per_program,
            mapped: if multi_plane { 1 } else { random.random_range(1..=2) },
            multi_plane,
            shared_bus: random.random(),
            read_first: suspend.is_some() || random.random(),
            shadow: types > 1 && random.random(),
            read: [25_013, 47_017, 66_029][..types].to_vec(),
            program: [200_003, 410_009, 633_013][..types].to_vec(),
            transfer: 100_019,
            command: [0, 307][random.random_range(0..2)],
            cache: (special == 0).then_some(3_001),
            suspend,
            together,
            order: ["CWDP", "PDWC", "WPCD"][random.random_range(0..3)],
        }
    }

    pub fn over(&self) -> Value {
        let times =
            |all: &[u64]| all.iter().map(|t| format!("{t} ns")).collect::<Vec<_>>().join(" / ");
        let mut nand = json!({
            "channels": self.channels, "chips_per_channel": self.chips, "dies_per_chip": self.dies,
            "planes_per_die": self.planes, "blocks_per_plane": 64, "pages_per_block": self.pages_per_block,
            "pages_per_program": self.pages_per_program, "multi_plane": self.multi_plane,
            "shared_bus": self.shared_bus, "scheduling": if self.read_first { "read-first" } else { "fifo" },
            "page_types": if self.shadow { "shadow" } else { "cycle" },
            "timing": {
                "read": times(&self.read), "program": times(&self.program), "erase": "1500 us",
                "transfer": times(&[self.transfer]), "command": times(&[self.command]),
            },
        });
        if self.mapped > 1 {
            nand["page_size"] = format!("{} KiB", 4 * self.mapped).into();
            nand["mapping_unit"] = "4 KiB".into();
        }
        if let Some(cache) = self.cache {
            nand["cache_program"] = times(&[cache]).into();
        }
        if let Some(s) = self.suspend {
            nand["suspend"] = json!({"program": s.program, "latency": times(&[s.latency]), "resume": times(&[s.resume]),
                "at_most": s.at_most});
        }
        if let Some(t) = self.together {
            nand["two_plane"] = json!({"read": t.read, "program": t.program, "planes": if t.all { "all" } else { "pairs" },
                "same_page": t.same_page, "same_block": t.same_block, "delay": times(&[t.delay]), "lookahead": t.lookahead});
        }
        json!({
            "nand": nand,
            "ftl": {"mapping": "page", "allocator": {"kind": "static", "order": self.order},
                "exported": format!("{} KiB", 4 * self.exported())},
            "buffer": {"size": "4 MiB"},
            "host": {"replay": "open", "max_outstanding": 1000},
        })
    }

    /// Pages that one program writes.
    pub fn program_pages(&self) -> u32 {
        self.pages_per_program * self.mapped * if self.multi_plane { self.planes } else { 1 }
    }

    /// Planes with blocks of their own, on each die.
    pub fn unit_planes(&self) -> u32 {
        if self.multi_plane { 1 } else { self.planes }
    }

    pub fn units(&self) -> u32 {
        self.channels * self.chips * self.dies * self.unit_planes()
    }

    /// Eight blocks of each plane hold data, of 64.
    pub fn exported(&self) -> u32 {
        self.channels
            * self.chips
            * self.dies
            * self.planes
            * self.pages_per_block
            * self.mapped
            * 8
    }

    /// Channel, chip, die and plane of the n-th stripe.
    pub fn place(&self, stripe: u32) -> [u32; 4] {
        let (mut rest, mut place) = (stripe, [0; 4]);
        for letter in self.order.chars() {
            let (level, size) = match letter {
                'C' => (0, self.channels),
                'W' => (1, self.chips),
                'D' => (2, self.dies),
                _ => (3, self.unit_planes()),
            };
            (place[level], rest) = (rest % size, rest / size);
        }
        place
    }

    /// Type of a page by its number in its block.
    pub fn page_type(&self, page: u32) -> usize {
        let types = self.read.len() as u32;
        if !self.shadow {
            return (page % types) as usize;
        }
        // Wordline by wordline, type t of a wordline as much later as t more wordlines have begun.
        let wordlines = self.pages_per_block / types;
        let diagonals = 0..wordlines + types;
        let all = diagonals.flat_map(|d| (0..types).filter(move |&t| d >= t && d - t < wordlines));
        all.collect::<Vec<_>>()[page as usize] as usize
    }
}
