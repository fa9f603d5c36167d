//! What schemes say of themselves: every file begins with its page, and every reading of a paper that is offered can be had.

use eraseblock_core::buffer::{self, BufferConfig};
use eraseblock_core::ftl::{self, MappingConfig};
use eraseblock_core::support::registry::Entry;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Every choice of a stage's schemes names an option, and values that differ from its default.
fn choices_hold<C: DeserializeOwned + Serialize>(registry: &[Entry]) {
    for entry in registry {
        let defaults = (entry.defaults)();
        for choice in entry.about.choices {
            let default = defaults.get(choice.option);
            assert!(default.is_some(), "{}: no option is called {}", entry.name, choice.option);
            assert!(!choice.others.is_empty() && !choice.open.is_empty(), "{}.{}", entry.name, choice.option);
            for other in choice.others {
                let value: Value = serde_json::from_str(other).unwrap();
                assert_ne!(Some(&value), default, "{}.{}", entry.name, choice.option);
                let config: C =
                    serde_json::from_value(json!({"kind": entry.name, choice.option: value})).unwrap();
                assert_eq!(serde_json::to_value(config).unwrap()[choice.option], value, "{}", entry.name);
            }
        }
    }
}

#[test]
fn every_other_reading_of_a_paper_can_be_configured() {
    choices_hold::<BufferConfig>(buffer::registry());
    choices_hold::<MappingConfig>(ftl::registry());
}

#[test]
fn every_scheme_has_a_page() {
    for entry in buffer::registry().iter().chain(ftl::registry()) {
        let page = entry.page();
        assert!(page.contains("**What it does.**"), "{} does not say what it does", entry.name);
        assert!(page.contains("\nCost of a page"), "{} does not say what it costs", entry.name);
    }
}
