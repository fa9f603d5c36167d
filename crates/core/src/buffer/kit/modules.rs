//! The parts of a drive that work at the same time (its chips, or its channels), and which of them
//! a block or a page would go to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::buffer::View;
use crate::pattern::{Pattern, Route};
use crate::support::ids::{LogicalBlock, PlaneId};

/// What counts as a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Each chip, which is channels times ways.
    #[default]
    Chips,
    /// Each channel, whatever hangs on it.
    Channels,
}

/// Where something that leaves the buffer would go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// To this module.
    Module(u32),
    /// To any one of them.
    Anywhere,
    /// Piece by piece to all of them.
    Everywhere,
}

/// More modules than any array has chips.
const MOST_MODULES: u32 = 65_535;

/// Units looked at for each module, where nothing is said of the window.
const WINDOW: u32 = 8;

/// The modules of a drive, and those of them that a round may still send something to.
#[derive(Debug)]
pub struct Modules {
    per: Per,
    /// Blocks or pages are dealt out by their numbers, whatever the FTL does.
    dealt: Option<u32>,
    window: Option<u32>,
    /// Pages of a logical block of the drive.
    pages_per_block: u32,
    /// What leaves is a page by itself, not a block.
    single: bool,
    open: Vec<bool>,
    left: u32,
}

impl Modules {
    /// Modules of a drive with blocks of `pages_per_block`, to which single pages go or whole
    /// blocks; `dealt` and `window` are the options of these names.
    ///
    /// # Errors
    /// An impossible number of modules, or a window of nothing.
    pub fn new(
        per: Per,
        pages_per_block: u32,
        single: bool,
        dealt: Option<u32>,
        window: Option<u32>,
    ) -> Result<Self, String> {
        if let Some(modules) = dealt.filter(|modules| !(1..=MOST_MODULES).contains(modules)) {
            return Err(format!(
                "buffer.scheme.modules: found {modules}, expected 1 to {MOST_MODULES}; leave it \
                 out for those of the drive"
            ));
        }
        if window == Some(0) {
            return Err(format!(
                "buffer.scheme.window: found 0, expected at least 1; leave it out for {WINDOW} for \
                 each module"
            ));
        }
        Ok(Self { per, dealt, window, pages_per_block, single, open: Vec::new(), left: 0 })
    }

    /// How many there are.
    pub fn count(&self, view: &dyn View) -> u32 {
        self.dealt.unwrap_or_else(|| match self.per {
            Per::Chips => view.chips(),
            Per::Channels => view.channels(),
        })
    }

    /// Blocks or pages at the end of the order among which victims are looked for.
    pub fn window(&self, view: &dyn View) -> usize {
        self.window.unwrap_or_else(|| self.count(view).saturating_mul(WINDOW)) as usize
    }

    /// The channel of a module.
    pub fn channel(module: u32, view: &dyn View) -> u32 {
        module % view.channels()
    }

    /// Operations that the dies of a module have to do; 0 where nothing ties modules to dies.
    pub fn work(&self, module: u32, view: &dyn View) -> u32 {
        self.units(module, view).map(|unit| view.queued(unit)).sum()
    }

    /// Units of a module.
    fn units(&self, module: u32, view: &dyn View) -> impl Iterator<Item = PlaneId> + use<> {
        let end = if self.dealt.is_some() { 0 } else { view.units() };
        (module..end).step_by(self.count(view) as usize).map(PlaneId)
    }

    /// Where a block of the buffer goes that was used so, which may be a single page.
    pub fn place(&self, lbn: LogicalBlock, pattern: Pattern, view: &dyn View) -> Destination {
        if let Some(modules) = self.dealt {
            return Destination::Module(lbn.0 % modules);
        }
        let chip_of_unit = |unit: PlaneId| unit.0 % view.chips();
        if self.single {
            let lpn = lbn.first(1);
            let chip = view.home_chip(lpn).or_else(|| view.unit_of(lpn).map(chip_of_unit));
            return chip.map_or(Destination::Anywhere, |chip| match self.per {
                Per::Chips => Destination::Module(chip),
                Per::Channels => Destination::Module(chip % view.channels()),
            });
        }
        match (view.route(lbn, pattern), self.per) {
            (Route::Striped, _) => Destination::Everywhere,
            (Route::Anywhere, _) => Destination::Anywhere,
            (Route::Channel(channel) | Route::Home(channel), Per::Channels) => {
                Destination::Module(channel)
            }
            (Route::Channel(channel) | Route::Home(channel), Per::Chips) => {
                // The chip where it goes, or where its first page lies now, if that is on this
                // channel; else the channel's first.
                let first = lbn.first(self.pages_per_block);
                let unit = view.unit_of_block(lbn).or_else(|| view.unit_of(first));
                let chip = unit.map(chip_of_unit);
                Destination::Module(
                    chip.filter(|chip| chip % view.channels() == channel).unwrap_or(channel),
                )
            }
        }
    }

    /// A round begins that may send something to each module.
    pub fn open_all(&mut self, view: &dyn View) {
        self.left = self.count(view);
        self.open.clear();
        self.open.resize(self.left as usize, true);
    }

    /// A round begins that may send something to each module that has nothing to do.
    pub fn open_idle(&mut self, view: &dyn View) {
        self.open_all(view);
        for module in 0..self.open.len() as u32 {
            if self.work(module, view) > 0 {
                self.close(module);
            }
        }
    }

    fn close(&mut self, module: u32) {
        self.open[module as usize] = false;
        self.left -= 1;
    }

    /// Whether the round can send nothing more.
    pub fn are_closed(&self) -> bool {
        self.left == 0
    }

    /// Lets something that goes to `place` leave in this round, if its module is open, which it
    /// then closes: the channel of that, or none where it goes to all. What may go anywhere takes
    /// the open module with the most erased blocks.
    pub fn take(&mut self, place: Destination, view: &dyn View) -> Option<Option<u32>> {
        let module = match place {
            Destination::Module(module) => self.open[module as usize].then_some(module)?,
            Destination::Anywhere => {
                let free = |module: u32| {
                    self.units(module, view).map(|u| view.free_blocks(u)).sum::<u32>()
                };
                let open = (0..self.open.len() as u32).filter(|&module| self.open[module as usize]);
                open.min_by_key(|&module| (std::cmp::Reverse(free(module)), module))?
            }
            Destination::Everywhere => {
                // It takes all modules, and so leaves alone.
                let all = self.left as usize == self.open.len();
                self.left = if all { 0 } else { self.left };
                return all.then_some(None);
            }
        };
        self.close(module);
        Some(Some(Self::channel(module, view)))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.open.capacity()
    }
}
