//! Settings that have no effect beside the others: they are not wrong, but whoever gives them expects one.

use crate::config::{DeviceConfig, PageTypes};
use crate::ftl::MappingConfig;
use crate::ftl::gc::{GcConfig, Grain};
use crate::ftl::victim::VictimConfig;
use crate::nand::Geometry;

/// Each with the reason.
fn settings(config: &DeviceConfig, geometry: &Geometry) -> Vec<String> {
    let (gc, nand) = (&config.ftl.gc, &config.nand);
    let blocks = geometry.blocks_per_unit;
    let mut found = Vec::new();
    let mut note = |unused: bool, what: String| found.extend(unused.then_some(what));
    let default_step = GcConfig::default().step_pages;
    note(
        gc.grain != Grain::Steps && gc.step_pages != default_step,
        "ftl.gc.step_pages (ftl.gc.grain is not \"steps\")".to_owned(),
    );
    let one_region = gc.regions == 1;
    note(one_region && gc.region_pages.is_some(), "ftl.gc.region_pages (ftl.gc.regions is 1)".to_owned());
    note(
        gc.idle_free_blocks.is_some_and(|free| free >= f64::from(blocks)),
        format!(
            "ftl.gc.idle_free_blocks as a limit (a unit has {blocks} blocks, so that idle time never ends collection)"
        ),
    );
    note(
        matches!(config.ftl.mapping, MappingConfig::Blas(_)) && config.ftl.allocator.is_some(),
        "ftl.allocator (ftl.mapping = \"blas\" says itself where pages go)".to_owned(),
    );
    match &config.ftl.victim {
        Some(VictimConfig::LocalityGathering(_)) => note(
            one_region,
            "ftl.victim = \"locality-gathering\" (ftl.gc.regions is 1, which makes it \"fifo\")".to_owned(),
        ),
        Some(VictimConfig::WindowedGreedy(policy)) => note(
            policy.window >= f64::from(blocks),
            format!("ftl.victim.window (a unit has {blocks} blocks, which makes it \"greedy\")"),
        ),
        _ => {}
    }
    let times = nand.timing.read.each().len().max(nand.timing.program.each().len());
    note(
        nand.page_types != PageTypes::default() && times == 1,
        "nand.page_types (nand.timing gives all pages one time)".to_owned(),
    );
    note(
        nand.two_plane.as_ref().is_some_and(|rules| !rules.read && !rules.program && !rules.erase),
        "nand.two_plane (read, program and erase are false)".to_owned(),
    );
    note(
        nand.suspend.as_ref().is_some_and(|rules| rules.at_most == 0 || !rules.program && !rules.erase),
        "nand.suspend (program and erase are false, or at_most is 0)".to_owned(),
    );
    let shortest = nand.timing.program.each().iter().min();
    note(
        nand.cache_program.as_ref().zip(shortest).is_some_and(|(pass, program)| pass.0 >= program.0),
        "nand.cache_program (it is no shorter than nand.timing.program, which it should hide the bus behind)"
            .to_owned(),
    );
    found
}

/// One sentence about them all, where there are any.
pub(super) fn warning(config: &DeviceConfig, geometry: &Geometry) -> Option<String> {
    let found = settings(config, geometry);
    (!found.is_empty()).then(|| {
        format!("settings without effect: {}; leave them out, or change what makes them so", found.join(", "))
    })
}
