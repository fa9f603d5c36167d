//! Every stand-in meets what was published. Apart from the unit tests, as it generates millions of
//! requests: here the generators are those of the library, which is optimised.

use eraseblock_traces::{GenerateConfig, MeasuredStatistic, measure_stand_in, stand_ins};

/// Requests of each stand-in that are measured here; `make stand-ins` measures them whole.
const SHORTENED: u64 = 200_000;

fn stand_in(name: &str, variant: Option<&str>, requests: Option<u64>) -> GenerateConfig {
    let mut generate = GenerateConfig::stand_in(name).unwrap();
    let GenerateConfig::StandIn(config) = &mut generate else { panic!("{name}: {generate:?}") };
    config.variant = variant.map(str::to_owned);
    config.requests = requests;
    generate
}

fn shortened(name: &str, variant: Option<&str>) -> GenerateConfig {
    let whole = stand_in(name, variant, None);
    let requests = whole.generator().unwrap().requests();
    stand_in(name, variant, (requests > SHORTENED).then_some(SHORTENED))
}

fn measure(generate: &GenerateConfig) -> Vec<MeasuredStatistic> {
    let GenerateConfig::StandIn(config) = generate else { panic!("{generate:?}") };
    let measured = measure_stand_in(config, &mut |_| true).unwrap();
    for one in &measured {
        assert!(
            one.comparison.met,
            "{}: {} ({}): published {}, generated {}",
            config.name, one.title, one.statistic.at, one.statistic.published, one.generated
        );
    }
    measured
}

/// Those that a part of the workload has too: at a shortened length.
#[test]
fn every_stand_in_meets_its_statistics_shortened() {
    for stand_in in stand_ins() {
        let measured = measure(&shortened(&stand_in.name, None));
        let some = stand_in.statistics.iter().any(|statistic| !statistic.whole_only);
        assert_eq!(!measured.is_empty(), some, "{}", stand_in.name);
        for variant in stand_in.variants.keys() {
            measure(&shortened(&stand_in.name, Some(variant)));
        }
    }
}

/// All of them, counts and space included: of those short enough to be made whole here.
#[test]
fn short_stand_ins_meet_all_their_statistics() {
    let mut whole = 0;
    for published in stand_ins() {
        let generate = stand_in(&published.name, None, None);
        if generate.generator().unwrap().requests() <= 1_100_000 {
            assert_eq!(measure(&generate).len(), published.statistics.len());
            whole += 1;
        }
    }
    assert!(whole >= 8, "{whole}");
}
