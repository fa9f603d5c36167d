//! Presets, files and options are laid over one another; lists become axes.

use eraseblock_experiment::{Experiment, preset_names, resolve};
use serde_json::{Value, json};

const FILE: &str = "preset = \"bplru-2008\"\n[workload]\npath = \"w.load\"\n";

/// The experiments of a file and options, as JSON.
fn points(toml: &str, sets: &[&str]) -> Vec<Value> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let experiments = resolve(Some(toml), "sweeps/mail.toml", &sets).unwrap();
    experiments.iter().map(|one| serde_json::from_str(&one.to_json()).unwrap()).collect()
}

/// The values at `pointers` of each experiment.
fn pick(points: &[Value], pointers: &[&str]) -> Vec<Vec<Value>> {
    points
        .iter()
        .map(|point| pointers.iter().map(|&at| point.pointer(at).unwrap().clone()).collect())
        .collect()
}

#[test]
fn a_preset_gives_what_the_file_leaves_out() {
    let all = points(
        &format!("{FILE}[buffer]\nsize = \"2048 KiB\"\n"),
        &["nand.timing.read=60us", "seed=7"],
    );
    assert_eq!(
        pick(
            &all,
            &[
                "/name",
                "/preset",
                "/buffer/size",
                "/buffer/write_back",
                "/nand/timing/read",
                "/seed"
            ]
        ),
        [[
            json!("mail"),
            json!("bplru-2008"),
            json!("2 MiB"),
            json!("foreground"),
            json!("60 us"),
            json!(7)
        ]]
    );
    assert_eq!(
        pick(&all, &["/nand/timing/program", "/nand/pages_per_block"]),
        [[json!("800 us"), json!(128)]]
    );
}

#[test]
fn options_win_over_the_file_and_later_ones_over_earlier_ones() {
    let file = format!("{FILE}[buffer]\nsize = \"1 MiB\"\n");
    assert_eq!(pick(&points(&file, &["buffer.size=2MiB"]), &["/buffer/size"]), [[json!("2 MiB")]]);
    let sets = ["buffer.size=2MiB", "buffer.size=3MiB", "name=x y"];
    assert_eq!(
        pick(&points(&file, &sets), &["/buffer/size", "/name"]),
        [[json!("3 MiB"), json!("x y")]]
    );
    // A value that could not be read does not matter once it is overridden.
    let wrong = format!("{FILE}[buffer]\nsize = 5\n");
    assert_eq!(pick(&points(&wrong, &["buffer.size=2MiB"]), &["/buffer/size"]), [[json!("2 MiB")]]);
}

#[test]
fn lists_are_axes_in_the_order_in_which_they_are_written() {
    let file = "preset = [\"hbm-2010\", \"bplru-2008\"]\n[buffer]\nsize = [\"1 MiB\", \"4 MiB\"]\n\
                scheme = [\"lru\", \"fab\"]\n[workload]\npath = \"w\"\n";
    let (hbm, bplru, one, four, lru, fab) = (
        json!("hbm-2010"),
        json!("bplru-2008"),
        json!("1 MiB"),
        json!("4 MiB"),
        json!("lru"),
        json!("fab"),
    );
    let expected: Vec<Vec<Value>> = [
        [&hbm, &one, &lru],
        [&hbm, &one, &fab],
        [&hbm, &four, &lru],
        [&hbm, &four, &fab],
        [&bplru, &one, &lru],
        [&bplru, &one, &fab],
        [&bplru, &four, &lru],
        [&bplru, &four, &fab],
    ]
    .iter()
    .map(|row| row.iter().map(|&value| value.clone()).collect())
    .collect();
    let all = points(file, &[]);
    assert_eq!(pick(&all, &["/preset", "/buffer/size", "/buffer/scheme/kind"]), expected);
    assert_eq!(
        all[0]["nand"]["timing"]["program"],
        json!("200 us"),
        "the preset of the first points"
    );
    assert_eq!(
        all[7]["nand"]["timing"]["program"],
        json!("800 us"),
        "the preset of the last points"
    );
}

/// A long axis costs as much as it is long, not its square.
#[test]
fn a_hundred_thousand_points_are_quick() {
    let seeds: Vec<String> = (0..100_000).map(|seed| format!("{seed},\n")).collect();
    let file = format!("seed = [{}]\n{FILE}", seeds.concat());
    let all = resolve(Some(&file), "f.toml", &[]).unwrap();
    assert_eq!((all.len(), all[99_999].seed), (100_000, 99_999));
}

#[test]
fn options_add_axes_after_those_of_the_file() {
    let file = format!("{FILE}[host]\nspeedup = [1, 2.5]\n");
    let all = points(&file, &["seed=[1, 2]", "buffer.size=[1MiB, 2 MiB]"]);
    let speedups: Vec<_> =
        all.iter().map(|point| point["host"]["speedup"].as_f64().unwrap()).collect();
    assert_eq!(speedups, [1.0, 1.0, 1.0, 1.0, 2.5, 2.5, 2.5, 2.5]);
    let rest = pick(&all[..4], &["/seed", "/buffer/size"]);
    let (one, two) = (json!("1 MiB"), json!("2 MiB"));
    assert_eq!(
        rest,
        [[json!(1), one.clone()], [json!(1), two.clone()], [json!(2), one], [json!(2), two]]
    );
}

#[test]
fn an_axis_may_list_tables_and_hold_axes() {
    let file = format!(
        "{FILE}[buffer]\nscheme = [\"lru\", {{ kind = \"bplru\", padding = [true, false] }}, \
         \"fab\"]\n"
    );
    let kinds: Vec<_> = points(&file, &[])
        .iter()
        .map(|point| {
            let scheme = &point["buffer"]["scheme"];
            (scheme["kind"].as_str().unwrap().to_owned(), scheme.get("padding").cloned())
        })
        .collect();
    let bplru = |padding: bool| ("bplru".to_owned(), Some(json!(padding)));
    assert_eq!(
        kinds,
        [("lru".to_owned(), None), bplru(true), bplru(false), ("fab".to_owned(), None)]
    );
}

#[test]
fn another_scheme_replaces_the_options_and_the_same_one_keeps_them() {
    let mapping = |sets: &[&str]| pick(&points(FILE, sets), &["/ftl/mapping"])[0][0].clone();
    assert_eq!(mapping(&["ftl.mapping=page"])["kind"], json!("page"));
    assert_eq!(mapping(&["ftl.mapping=page"]).get("log_blocks"), None);
    for set in ["ftl.mapping=bast", "ftl.mapping.kind=bast", "ftl.mapping.victim=fifo"] {
        let kept = mapping(&[set]);
        assert_eq!((&kept["kind"], &kept["log_blocks"]), (&json!("bast"), &json!(7.0)), "{set}");
    }
    // An option without a kind adjusts a scheme that was given by its name alone.
    let scheme =
        pick(&points(FILE, &["buffer.scheme.padding=false"]), &["/buffer/scheme"])[0][0].clone();
    assert_eq!((&scheme["kind"], &scheme["padding"]), (&json!("bplru"), &json!(false)));
    let scheme = pick(
        &points(FILE, &["buffer.scheme.padding=false", "buffer.scheme=fab"]),
        &["/buffer/scheme"],
    );
    assert_eq!(scheme[0][0]["kind"], json!("fab"));
}

#[test]
fn a_format_is_laid_over_another_as_a_scheme_is() {
    let format = |sets: &[&str]| pick(&points(FILE, sets), &["/workload/format"])[0][0].clone();
    let fio = |unit: &str| json!({"kind": "fio", "unit": unit, "waits": "gaps"});
    assert_eq!(format(&[]), json!("auto"));
    assert_eq!(format(&["workload.format=spc"]), json!("spc"));
    assert_eq!(format(&["workload.format=fio"]), fio("us"));
    assert_eq!(format(&["workload.format=fio", "workload.format.unit=ms"]), fio("ms"));
    assert_eq!(
        format(&["workload.format={kind=\"fio\", unit=\"ms\"}", "workload.format=fio"]),
        fio("ms")
    );
    assert_eq!(
        format(&["workload.format={kind=\"fio\", unit=\"ms\"}", "workload.format=blkparse"]),
        json!({"kind": "blkparse", "action": "issue"})
    );
}

/// Only schemes are replaced whole.
#[test]
fn another_pattern_keeps_the_other_keys_of_a_generator() {
    let file = "preset = \"bplru-2008\"\n\
                workload.generate = { kind = \"zipf\", requests = 5, footprint = \"1 MiB\" }\n";
    let all = points(file, &["workload.generate.kind=[uniform,sequential]"]);
    let (uniform, sequential) = (json!("uniform"), json!("sequential"));
    let expected = [[uniform, json!(5)], [sequential, json!(5)]];
    assert_eq!(pick(&all, &["/workload/generate/kind", "/workload/generate/requests"]), expected);
}

#[test]
fn what_is_resolved_is_explicit_and_survives_json() {
    for name in preset_names() {
        let set = [format!("preset={name}"), "workload.path=w".to_owned()];
        let experiment = resolve(None, "", &set).unwrap().remove(0);
        let again = Experiment::from_json(&experiment.to_json()).unwrap();
        assert_eq!(again, experiment);
        assert_eq!(again.to_json(), experiment.to_json());
        assert_eq!(again.key(), experiment.key());
        assert_eq!(experiment.name, "experiment");
    }
    let error = Experiment::from_json("{\"name\": 3}").unwrap_err().to_string();
    assert!(error.starts_with("experiment: `name`: invalid type: integer `3`"), "{error}");
}

#[test]
fn keys_depend_on_values_and_not_on_labels() {
    let key = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        resolve(Some(FILE), "f.toml", &sets).unwrap()[0].key()
    };
    assert_eq!(key(&[]).len(), 32);
    assert_eq!(
        key(&[]),
        key(&["name=other", "buffer.size=16384KiB"]),
        "the same values, written otherwise"
    );
    assert_ne!(key(&[]), key(&["seed=2"]));
    assert_ne!(key(&[]), key(&["workload.path=v"]));
}

/// Cases are an axis, crossed by the others and by those that they hold; their settings win, and
/// options of a preset's scheme stay.
#[test]
fn cases_are_settings_that_go_together() {
    let file = r#"
        preset = "bplru-2008"
        workload.path = "w"
        [[case]]
        name = "plain"
        [[case]]
        name = "other"
        buffer.scheme = "lru"
        ftl.mapping = { log_blocks = [7, 9] }
        [buffer]
        size = ["1 MiB", "2 MiB"]
    "#;
    let found: Vec<_> = resolve(Some(file), "cases.toml", &[])
        .unwrap()
        .iter()
        .map(|one| {
            let json: Value = serde_json::from_str(&one.to_json()).unwrap();
            let part = |pointer: &str| json.pointer(pointer).unwrap().to_string();
            (
                one.case.clone().unwrap(),
                part("/buffer/scheme/kind"),
                part("/ftl/mapping/log_blocks"),
                one.buffer.size.to_string(),
            )
        })
        .collect();
    let expected = [
        ("plain", "bplru", "7.0", "1 MiB"),
        ("plain", "bplru", "7.0", "2 MiB"),
        ("other", "lru", "7.0", "1 MiB"),
        ("other", "lru", "7.0", "2 MiB"),
        ("other", "lru", "9.0", "1 MiB"),
        ("other", "lru", "9.0", "2 MiB"),
    ];
    let expected = expected.map(|(name, scheme, logs, size)| {
        (name.to_owned(), format!("\"{scheme}\""), logs.to_owned(), size.to_owned())
    });
    assert_eq!(found, expected);
}

/// What a result says of its configuration is a configuration.
#[test]
fn a_configuration_of_a_case_can_be_read_again() {
    let file = "preset = \"bplru-2008\"\nworkload.path = \"w\"\n[[case]]\nname = \
        \"one\"\nbuffer.size = \"2 MiB\"\n";
    let [one] = resolve(Some(file), "cases.toml", &[]).unwrap().try_into().unwrap();
    let again = Experiment::from_json(&one.to_json()).unwrap();
    assert_eq!(again, one);
    let named = resolve(
        Some("preset = \"bplru-2008\"\nworkload.path = \"w\"\ncase = \"one\""),
        "x.toml",
        &[],
    );
    assert_eq!(named.unwrap()[0].case.as_deref(), Some("one"));
}

const PRESET: &str = "preset = \"hbm-2010\"\nworkload.path = \"w\"\n";

fn capacity(point: &Value) -> (Value, Value) {
    let ftl = &point["ftl"];
    (ftl["exported"].clone(), ftl["over_provisioning"].clone())
}

/// Of two keys that say the same, the one given last holds.
#[test]
fn spare_flash_displaces_the_capacity_of_a_layer_below() {
    let of =
        |file: &str, sets: &[&str]| points(file, sets).iter().map(capacity).collect::<Vec<_>>();
    let spare = |share: f64| (Value::Null, json!(share));
    assert_eq!(of(PRESET, &[]), [(json!("32 GiB"), Value::Null)]);
    let sweep = "ftl.over_provisioning=[0.07, 0.15, 0.5]";
    assert_eq!(of(PRESET, &[sweep]), [spare(0.07), spare(0.15), spare(0.5)]);
    let file = format!("{PRESET}[ftl]\nover_provisioning = 0.2\n");
    assert_eq!(of(&file, &[]), [spare(0.2)]);
    assert_eq!(of(&file, &["ftl.exported=1GiB"]), [(json!("1 GiB"), Value::Null)]);
    let file = format!("{PRESET}[ftl]\nexported = \"2 GiB\"\n");
    assert_eq!(of(&file, &["ftl.over_provisioning=0.3"]), [spare(0.3)]);
    let cases = format!(
        "{file}[[case]]\nname = \"a\"\nftl.over_provisioning = 0.4\n[[case]]\nname = \"b\"\n"
    );
    assert_eq!(of(&cases, &[]), [spare(0.4), (json!("2 GiB"), Value::Null)]);
    // The other way round: a preset that says the share.
    let file = "preset = \"multibank-2009\"\nworkload.path = \"w\"\nftl.exported = \"1 GiB\"\n";
    assert_eq!(of(file, &[]), [(json!("1 GiB"), Value::Null)]);
    // A generator on the command line stands in for the file's trace.
    let made = points(PRESET, &["workload.generate={kind=\"uniform\"}"]);
    assert_eq!(made[0]["workload"].get("path"), None);
}

#[test]
fn two_keys_that_say_the_same_in_one_layer_are_an_error() {
    let both = format!("{PRESET}[ftl]\nexported = \"2 GiB\"\nover_provisioning = 0.2\n");
    let turned = format!("{PRESET}[ftl]\n\nover_provisioning = 0.2\n\n\nexported = \"2 GiB\"\n");
    let sets = ["ftl.exported=1GiB", "ftl.over_provisioning=0.2"].map(str::to_owned);
    let axes = ["ftl.exported=1GiB", "ftl.over_provisioning=[null, 0.2]"].map(str::to_owned);
    for (file, sets, place) in [
        (both.as_str(), &sets[..0], "f.toml:5"),
        (turned.as_str(), &sets[..0], "f.toml:8"),
        (PRESET, &sets[..], "--set ftl.over_provisioning=0.2"),
        (PRESET, &axes[..], "--set ftl.over_provisioning=[null, 0.2]"),
    ] {
        let error = resolve(Some(file), "f.toml", sets).unwrap_err().to_string();
        let expected = format!(
            "{place}: `ftl.exported` and `ftl.over_provisioning` are two ways to say the same; \
             give one of them"
        );
        assert_eq!(error, expected);
    }
    let sets = ["workload.path=v", "workload.generate={kind=\"uniform\"}"].map(str::to_owned);
    let error = resolve(Some("preset = \"hbm-2010\""), "f.toml", &sets).unwrap_err().to_string();
    assert!(error.contains("`workload.path` and `workload.generate` are two ways"), "{error}");
}

/// A point of an axis that says nothing is like one without the axis.
#[test]
fn null_in_a_list_leaves_the_other_key_of_a_pair_alone() {
    let of =
        |file: &str, sets: &[&str]| points(file, sets).iter().map(capacity).collect::<Vec<_>>();
    let size = |size: &str| (json!(size), Value::Null);
    let spare = |share: f64| (Value::Null, json!(share));
    let file = format!("{PRESET}[ftl]\nexported = \"2 GiB\"\n");
    assert_eq!(of(&file, &["ftl.over_provisioning=null"]), [size("2 GiB")]);
    assert_eq!(of(&file, &["ftl.over_provisioning=[null, 0.3]"]), [size("2 GiB"), spare(0.3)]);
    assert_eq!(of(PRESET, &["ftl.over_provisioning=[null, 0.3]"]), [size("32 GiB"), spare(0.3)]);
    let file = format!("{PRESET}[ftl]\nover_provisioning = [\"null\", 0.3]\n");
    assert_eq!(of(&file, &["ftl.exported=1GiB"]), [size("1 GiB")]);
    // An option takes back what a preset gives; the option after it says nothing at its first
    // point.
    let sets = ["ftl.exported=null", "ftl.over_provisioning=[null, 0.3]"];
    assert_eq!(of(PRESET, &sets), [spare(0.07), spare(0.3)]);
    let sets = ["ftl.exported=[null, 1GiB]", "ftl.over_provisioning=0.3"];
    let sets = sets.map(str::to_owned);
    let error = resolve(Some(PRESET), "f.toml", &sets).unwrap_err().to_string();
    assert!(error.contains("two ways to say the same"), "{error}");
}

#[test]
fn null_takes_back_the_preset_and_the_cases() {
    let file = format!("{PRESET}host.speedup = 2\n");
    let sets = ["preset=null".to_owned()];
    let error = resolve(Some(&file), "f.toml", &sets).unwrap_err().to_string();
    assert!(error.contains("is missing; give it, or start from a preset"), "{error}");
    let cases = format!("{file}[[case]]\nname = \"a\"\nhost.speedup = 3\n");
    assert_eq!(pick(&points(&cases, &["case=null"]), &["/host/speedup"]), [[json!(2.0)]]);
    let axis =
        format!("{file}[[case]]\nname = \"a\"\nftl.exported = \"null\"\n[[case]]\nname = \"b\"\n");
    let of: Vec<_> = points(&axis, &[]).iter().map(capacity).collect();
    assert_eq!(of, [(Value::Null, json!(0.07)), (json!("32 GiB"), Value::Null)]);
}

/// `null` takes back what a layer below says, and the default holds.
#[test]
fn null_takes_a_value_back() {
    assert_eq!(capacity(&points(PRESET, &["ftl.exported=null"])[0]), (Value::Null, json!(0.07)));
    let file = format!("{PRESET}[host]\nmax_outstanding = \"null\"\n");
    assert_eq!(points(&file, &[])[0]["host"]["max_outstanding"], 32);
    let axis = points(PRESET, &["host.max_outstanding=[null, 4]"]);
    assert_eq!(pick(&axis, &["/host/max_outstanding"]), [[json!(32)], [json!(4)]]);
    let named = points(PRESET, &["name=null"]);
    assert_eq!(named[0]["name"], "null", "a name is any text");
    let sets = ["nand.channels=null".to_owned()];
    let error = resolve(Some(PRESET), "f.toml", &sets).unwrap_err().to_string();
    assert!(error.contains("`nand.channels` is missing"), "{error}");
}

/// A generator's key, too.
#[test]
fn null_takes_back_a_key_of_a_generator() {
    let of = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        let file = "kind = \"uniform\"\nrequests = 5\nread_share = 0.3\nsize = { \"4 KiB\" = 1, \
            mean = \"null\" }\n";
        let made = eraseblock_experiment::resolve_generator(None, Some((file, "g.toml")), &sets);
        serde_json::to_value(made.unwrap()).unwrap()
    };
    let plain = of(&[]);
    assert_eq!((&plain["requests"], &plain["read_share"]), (&json!(5), &json!(0.3)));
    let back = of(&["read_share=null", "requests=null"]);
    let default = of(&["read_share=0"]);
    assert_eq!(
        (&back["requests"], &back["read_share"]),
        (&json!(1_000_000), &default["read_share"])
    );
}
