//! Settings that have no effect beside the others: they are not wrong, but whoever gives them
//! expects one.

use serde::Serialize;
use serde_json::Value;

use crate::config::{DeviceConfig, PageTypes, Precondition, Replay};
use crate::ftl::MappingConfig;
use crate::ftl::gc::{GcCost, Grain};
use crate::ftl::victim::VictimConfig;
use crate::nand::Geometry;
use crate::support::registry::{Entry, Needs};
use crate::{buffer, ftl};

/// A setting that does nothing in a configuration, whatever its value. All that lies below the key
/// is meant, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    /// Such as `ftl.gc.region_pages`.
    pub key: String,
    /// What makes it so, such as `ftl.gc.regions is 1`.
    pub why: String,
}

impl Idle {
    /// A key and the reason.
    pub fn new(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self { key: key.into(), why: why.into() }
    }
}

/// Settings of a drive that only the engine reads, which knows no time where the replay has none.
const TIMED: [&str; 11] = [
    "nand.scheduling",
    "nand.shared_bus",
    "nand.copy_back",
    "nand.page_types",
    "nand.two_plane",
    "nand.cache_program",
    "nand.suspend",
    "ftl.gc.cost",
    "ftl.gc.grain",
    "ftl.gc.step_pages",
    "ftl.gc.idle_free_blocks",
];

/// All of them.
pub(super) fn settings(config: &DeviceConfig, geometry: &Geometry) -> Vec<Idle> {
    let mut found = Vec::new();
    host(config, geometry, &mut found);
    flash(config, &mut found);
    collection(config, geometry, &mut found);
    capacity(config, geometry, &mut found);
    let ftl = &config.ftl;
    schemes("buffer.scheme", buffer::registry(), &config.buffer.scheme, &mut found);
    schemes("ftl.mapping", ftl::registry(), &ftl.mapping, &mut found);
    schemes("ftl.allocator", ftl::alloc::registry(), &ftl.allocator, &mut found);
    schemes("ftl.victim", ftl::victim::registry(), &ftl.victim, &mut found);
    schemes("ftl.wear", ftl::wear::registry(), &ftl.wear, &mut found);
    found
}

fn host(config: &DeviceConfig, geometry: &Geometry, found: &mut Vec<Idle>) {
    let mut note =
        |idle: bool, key: &str, why: &str| found.extend(idle.then(|| Idle::new(key, why)));
    let replay = config.host.replay;
    note(
        replay == Replay::Closed,
        "host.speedup",
        "host.replay = \"closed\" takes no arrival times",
    );
    let always = "host.replay = \"closed\" leaves no time without a request";
    note(replay == Replay::Closed, "ftl.gc.idle_free_blocks", always);
    let untimed = "host.replay = \"untimed\" knows no time";
    let is_untimed = replay == Replay::Untimed;
    for key in TIMED.into_iter().chain(["host.speedup", "host.max_outstanding"]) {
        note(is_untimed, key, untimed);
    }
    note(is_untimed && !config.buffer.scheme.weighs_times(), "nand.timing", untimed);
    // Foreground write-back fills up what program units lack.
    note(is_untimed && geometry.program_pages == 1, "buffer.write_back", untimed);
    let state = config.precondition.state;
    for key in ["precondition.tolerance", "precondition.max_drive_writes"] {
        note(!state.settles(), key, "precondition.state is neither \"steady\" nor \"workload\"");
    }
    note(state != Precondition::Steady, "seed", "precondition.state is not \"steady\"");
    for key in ["buffer.power_loss", "buffer.hold_up"] {
        note(
            true,
            key,
            "power does not fail in a run of an experiment, but on a drive that is served",
        );
    }
    let no_buffer = config.buffer.scheme.name() == "none";
    for key in ["buffer.write_back", "nand.timing.ram"] {
        note(no_buffer, key, "buffer.scheme = \"none\" holds no pages");
    }
}

fn flash(config: &DeviceConfig, found: &mut Vec<Idle>) {
    let mut note =
        |idle: bool, key: &str, why: &str| found.extend(idle.then(|| Idle::new(key, why)));
    let nand = &config.nand;
    note(nand.planes_per_die == 1, "nand.multi_plane", "nand.planes_per_die is 1");
    note(nand.chips_per_channel == 1, "nand.shared_bus", "nand.chips_per_channel is 1");
    let times = nand.timing.read.each().len().max(nand.timing.program.each().len());
    note(
        nand.page_types != PageTypes::default() && times == 1,
        "nand.page_types",
        "nand.timing gives all pages one time",
    );
    if let Some(rules) = &nand.two_plane {
        let none = !rules.read && !rules.program && !rules.erase;
        note(none, "nand.two_plane", "read, program and erase are false");
    }
    if let Some(rules) = &nand.suspend {
        let never = rules.at_most == 0 || !rules.program && !rules.erase;
        note(never, "nand.suspend", "program and erase are false, or at_most is 0");
    }
    let shortest = nand.timing.program.each().iter().min();
    note(
        nand.cache_program
            .as_ref()
            .zip(shortest)
            .is_some_and(|(pass, program)| pass.0 >= program.0),
        "nand.cache_program",
        "it is no shorter than nand.timing.program, which it should hide the bus behind",
    );
}

fn collection(config: &DeviceConfig, geometry: &Geometry, found: &mut Vec<Idle>) {
    let mut note =
        |idle: bool, key: &str, why: String| found.extend(idle.then(|| Idle::new(key, why)));
    let gc = &config.ftl.gc;
    let blocks = geometry.blocks_per_unit;
    let own = matches!(config.ftl.mapping, MappingConfig::Page(_) | MappingConfig::Dftl(_));
    let unlevelled = config.ftl.wear.as_ref().is_none_or(|wear| wear.name() == "none");
    for key in ["nand.timing.erase", "nand.copy_back"] {
        let free = own && unlevelled && gc.cost == GcCost::Free;
        note(
            free,
            key,
            "ftl.gc.cost = \"free\" moves pages and erases blocks in no time".to_owned(),
        );
    }
    note(geometry.units == 1, "ftl.allocator", "the array is a single unit".to_owned());
    let whole = "ftl.gc.grain is not \"steps\"".to_owned();
    note(gc.grain != Grain::Steps, "ftl.gc.step_pages", whole);
    let one_region = gc.regions == 1;
    note(one_region, "ftl.gc.region_pages", "ftl.gc.regions is 1".to_owned());
    note(
        gc.idle_free_blocks.is_some_and(|free| free >= f64::from(blocks)),
        "ftl.gc.idle_free_blocks",
        format!("as a limit: a unit has {blocks} blocks, so that idle time never ends collection"),
    );
    note(
        matches!(config.ftl.mapping, MappingConfig::Blas(_)),
        "ftl.allocator",
        "ftl.mapping = \"blas\" says itself where pages go".to_owned(),
    );
    match &config.ftl.victim {
        Some(VictimConfig::LocalityGathering(_)) => {
            // A map on flash has blocks of its own to choose from.
            note(
                one_region && !matches!(config.ftl.mapping, MappingConfig::Dftl(_)),
                "ftl.victim",
                "ftl.gc.regions is 1, which makes it \"fifo\"".to_owned(),
            );
        }
        Some(VictimConfig::WindowedGreedy(policy)) => note(
            policy.window >= f64::from(blocks),
            "ftl.victim.window",
            format!("a unit has {blocks} blocks, which makes it \"greedy\""),
        ),
        _ => {}
    }
}

fn capacity(config: &DeviceConfig, geometry: &Geometry, found: &mut Vec<Idle>) {
    let mut note =
        |idle: bool, why: &str| found.extend(idle.then(|| Idle::new("ftl.over_provisioning", why)));
    let raw = u64::from(geometry.pages()) * geometry.page_bytes;
    let reserved = config.ftl.exported.is_none()
        && super::assemble::most_exported(config, geometry)
            <= super::assemble::beside_spare(config, raw);
    note(reserved, "ftl.mapping.reserve leaves the host no more than that");
}

/// Options of the scheme at `path` that need others beside them.
fn schemes<T: Serialize>(path: &str, registry: &[Entry], scheme: &T, found: &mut Vec<Idle>) {
    let options = serde_json::to_value(scheme).unwrap_or_default();
    let Some(entry) = registry.iter().find(|entry| options["kind"] == entry.name) else { return };
    found.extend(idle_options(path, entry.about.needs, &options));
}

/// Options among `options`, which stand at `path`, that do nothing beside the others.
pub fn idle_options(path: &str, needs: &[Needs], options: &Value) -> Vec<Idle> {
    let is = |value: &Value, text: &str| {
        serde_json::from_str::<Value>(text).is_ok_and(|one| one == *value)
    };
    let idle = |need: &&Needs| {
        let beside = &options[need.beside];
        if need.values.is_empty() {
            beside.is_null()
        } else {
            !need.values.iter().any(|text| is(beside, text))
        }
    };
    let say = |need: &Needs| {
        let Needs { option, beside, .. } = need;
        Idle::new(format!("{path}.{option}"), format!("{path}.{beside} is {}", options[*beside]))
    };
    needs.iter().filter(idle).map(say).collect()
}

/// One sentence about those of `idle` that somebody gave.
pub fn warning(idle: &[Idle], given: impl Fn(&str) -> bool) -> Option<String> {
    let mut found: Vec<&Idle> = Vec::new();
    for one in idle.iter().filter(|one| given(&one.key)) {
        // One reason is enough.
        if !found.iter().any(|other| other.key == one.key) {
            found.push(one);
        }
    }
    let each: Vec<_> = found.iter().map(|one| format!("{} ({})", one.key, one.why)).collect();
    (!each.is_empty()).then(|| {
        format!(
            "settings without effect: {}; leave them out, or change what makes them so",
            each.join(", ")
        )
    })
}
