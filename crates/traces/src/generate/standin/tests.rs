//! The catalogue of stand-ins and what is counted of them; `tests/stand_ins.rs` measures them.

use std::collections::BTreeSet;

use super::*;
use crate::generate::standin::statistic::Measure;

#[test]
fn the_catalogue_is_sound() {
    let mut names = BTreeSet::new();
    for stand_in in stand_ins() {
        assert!(names.insert(&stand_in.name), "{} comes twice", stand_in.name);
        assert!(!stand_in.choices.is_empty() && !stand_in.unknown.is_empty(), "{}", stand_in.name);
        assert!(!stand_in.source.is_empty() && stand_in.year > 1990, "{}", stand_in.name);
        assert!(stand_in.generate["kind"] != "standin");
        let statistics = stand_in.variants.values().flat_map(|variant| &variant.statistics);
        for statistic in stand_in.statistics.iter().chain(statistics) {
            assert!(
                statistic.is_sound() && !statistic.at.is_empty(),
                "{}: {statistic:?}",
                stand_in.name
            );
        }
        for variant in stand_in.variants.values() {
            for statistic in &variant.statistics {
                assert!(stand_in.statistics.iter().any(|other| other.counts_the_same(statistic)));
            }
        }
        let model = Config { name: stand_in.name.clone(), ..Config::default() }.model().unwrap();
        assert_eq!(model.seed(), 1);
    }
    for paper in ["hbm-", "multibank-", "supa-", "bplru-", "umass-"] {
        assert!(names.iter().any(|name| name.starts_with(paper)), "{paper}");
    }
}

#[test]
fn a_statistic_is_met_within_two_percent_or_the_digits_printed() {
    let statistic = |published: &str| Statistic {
        measure: Measure::Requests,
        of: super::statistic::Of::All,
        from: None,
        to: None,
        published: published.to_owned(),
        unit: super::statistic::Unit::One,
        at: "here".to_owned(),
        whole_only: false,
    };
    for (published, generated, met) in [
        ("100", 102.0, true),
        ("100", 102.1, false),
        ("100", 97.9, false),
        ("0.01", 0.0077, true),
        ("0.01", 0.0049, false),
        ("5,334,987", 5_334_987.0, true),
        ("0.00", 0.0, true),
        ("0.00", 0.006, false),
        (">50", 50.1, true),
        (">50", 50.0, false),
        ("<5", 4.9, true),
    ] {
        assert_eq!(statistic(published).compare(generated).met, met, "{published} {generated}");
    }
}

#[test]
fn wrong_names_are_answered_with_the_right_ones() {
    let problem =
        |config: Config| GenerateConfig::StandIn(config).generator().unwrap_err().to_string();
    let named = |name: &str| Config { name: name.to_owned(), ..Config::default() };
    let message = problem(named("hbm-finacial"));
    assert!(
        message.contains(
            "generate.name: there is no stand-in `hbm-finacial`; did you mean `hbm-financial`?"
        ),
        "{message}"
    );
    let message = problem(Config { variant: Some("s".to_owned()), ..named("hbm-financial") });
    assert!(
        message.contains("generate.variant: `hbm-financial` has no variant `s` (known: ms)"),
        "{message}"
    );
    let set = |key: &str, value: Value| Map::from_iter([(key.to_owned(), value)]);
    for (set, part) in [
        (set("kind", "zipf".into()), "generate.set: `kind` and `seed`"),
        (set("footprnt", "1 MiB".into()), "generate.set.footprnt: unknown field `footprnt`"),
        (set("read_share", 2.into()), "generate.set.read_share: found 2"),
    ] {
        let message = problem(Config { set, ..named("hbm-financial") });
        assert!(message.contains(part), "{message}");
    }
    assert!(
        problem(Config { requests: Some(0), ..named("hbm-financial") })
            .contains("requests: found 0")
    );
}

#[test]
fn seeds_and_settings_reach_the_model() {
    let requests = |config: Config| -> Vec<_> {
        GenerateConfig::StandIn(config).generator().unwrap().collect()
    };
    let base = Config { name: "supa-web".to_owned(), requests: Some(1000), ..Config::default() };
    assert_eq!(requests(base.clone()), requests(base.clone()));
    assert_ne!(requests(base.clone()), requests(Config { seed: 2, ..base.clone() }));
    let set = Map::from_iter([("read_share".to_owned(), 1.into())]);
    let reads = requests(Config { set, ..base });
    assert!(reads.iter().all(|request| request.op == eraseblock_core::host::Op::Read));
}
