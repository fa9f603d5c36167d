//! Every wrong configuration is answered in one line that says where, what, and what was meant.

use eraseblock_experiment::{resolve, resolve_generator};

/// The error line of a file and `--set` options.
fn error(toml: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let line = resolve(Some(toml), "exp.toml", &sets).expect_err(toml).to_string();
    assert!(!line.contains('\n'), "one line: {line}");
    line
}

/// A right file of two lines and a workload, and then what is wrong from line 5 on.
fn after_good(wrong: &str) -> String {
    format!("preset = \"bplru-2008\"\n[workload]\npath = \"w.load\"\n\n{wrong}\n")
}

#[test]
fn unknown_keys_name_the_nearest_right_one() {
    for (wrong, expected) in [
        (
            "[buffer]\npagez = 3",
            "exp.toml:6: unknown key `buffer.pagez` (known here: size, write_back, battery, \
             power_loss, hold_up, scheme)",
        ),
        (
            "[buffer]\nsiz = 3",
            "exp.toml:6: unknown key `buffer.siz`; did you mean `buffer.size`? \
             (known here: size, write_back, battery, power_loss, hold_up, scheme)",
        ),
        (
            "[bufer]\nsize = \"1 MiB\"",
            "exp.toml:5: unknown key `bufer`; did you mean `buffer`? (known here: name, preset, \
             case, workload, nand, ftl, buffer, host, precondition, seed, bounds, patterns, \
             service_times, metrics)",
        ),
        (
            "[host]\nscheme = \"lru\"",
            "exp.toml:6: unknown key `host.scheme`; did you mean `buffer.scheme`? \
             (known here: replay, max_outstanding, speedup, partial_page, warm_up, end_of_run)",
        ),
        (
            "[nand.timing]\nreadd = \"1us\"",
            "exp.toml:6: unknown key `nand.timing.readd`; did you mean `nand.timing.read`? \
             (known here: read, program, erase, transfer, transfer_per, command, ram)",
        ),
    ] {
        assert_eq!(error(&after_good(wrong), &[]), expected);
    }
}

#[test]
fn unknown_options_of_a_scheme_name_the_scheme() {
    let line = error(&after_good("[buffer]\nscheme = { kind = \"bplru\", paddin = true }"), &[]);
    let start = "exp.toml:6: unknown key `buffer.scheme.paddin`; did you mean \
        `buffer.scheme.padding`? (options of `bplru`: ";
    assert!(line.starts_with(start), "{line}");
    assert_eq!(
        error(&after_good("[buffer]\nscheme = \"none\""), &["buffer.scheme.padding=false"]),
        "--set buffer.scheme.padding=false: unknown key `buffer.scheme.padding` (`none` has no \
         options)"
    );
}

/// What the line says, as data: for whoever tells it in other words.
#[test]
fn errors_are_data_too() {
    let wrong = |toml: &str, set: &str| {
        resolve(Some(&after_good(toml)), "exp.toml", &[set.to_owned()]).unwrap_err()
    };
    let error = wrong("[buffer]\nsiz = 3", "seed=1");
    assert_eq!((error.place.as_str(), error.key.as_deref()), ("exp.toml:6", Some("buffer.siz")));
    assert_eq!(error.meant.as_deref(), Some("buffer.size"));
    for (set, key, meant) in [
        ("host.replay=opne", "host.replay", Some("open")),
        ("buffer.scheme.kind=bplr", "buffer.scheme", Some("bplru")),
        ("preset=hbm-2011", "preset", Some("hbm-2010")),
        ("nand.channels=two", "nand.channels", None),
    ] {
        let error = wrong("", set);
        assert_eq!((error.key.as_deref(), error.meant.as_deref()), (Some(key), meant), "{error}");
        assert_eq!(error.place, format!("--set {set}"));
    }
}

/// An option belongs to its format: beside another one it is refused, never passed over.
#[test]
fn options_of_other_formats_are_refused() {
    for (wrong, expected) in [
        (
            "workload.format={kind=\"fio\", zeroes=\"trim\"}",
            "unknown key `workload.format.zeroes` (options of `fio`: unit, waits)",
        ),
        (
            "workload.format={kind=\"fio\", unt=\"ms\"}",
            "unknown key `workload.format.unt`; did you mean `workload.format.unit`? (options of \
             `fio`: unit, waits)",
        ),
        (
            "workload.format={kind=\"fio\", unit=\"m\"}",
            "`workload.format.unit`: unknown name `m`; did you mean `ms`? (known: ns, us, ms)",
        ),
        (
            "workload.format={kind=\"oracle-general\", block=\"0 B\"}",
            "`workload.format.block`: found 0 B, expected the size of a block, such as \"512 B\"",
        ),
        (
            "workload.format={kind=\"spc\", unit=\"ms\"}",
            "unknown key `workload.format.unit` (`spc` has no options)",
        ),
        (
            "workload.format.action=queue",
            "`workload.format.kind` is missing; say whose options these are: kind = \"blktrace\", \
             \"blkparse\"",
        ),
        (
            "workload.format={kind=\"auto\", unit=\"ms\"}",
            "`workload.format.unit`: is an option of fio; name that format as the kind",
        ),
        (
            "workload.format=fjo",
            "`workload.format`: unknown trace format `fjo`; did you mean `fio`? known: auto, ",
        ),
    ] {
        let line = error(&after_good(""), &[wrong]);
        let start = format!("--set {wrong}: {expected}");
        assert!(line.starts_with(&start), "{line}\n{start}");
    }
}

/// What is wrong deep inside a generator is told with the whole way to it, and what is missing is
/// not blamed on what is there.
#[test]
fn options_of_generators_have_their_whole_path() {
    for (wrong, expected) in [
        ("size={kind=\"uniform\", min=\"4 KiB\"}", "`size.max` is missing"),
        ("size={kind=\"lognormal\", sigma=1}", "`size.median` is missing"),
        (
            "streams={a={kind=\"uniform\", requests=-1}}",
            "`streams.a.requests`: found the number -1, expected a whole number",
        ),
        ("streams={a={requests=10}}", "`streams.a.kind` is missing"),
        (
            "streams={ok={kind=\"uniform\"}, a={kind=\"uniform\", sizee=1}}",
            "unknown key `streams.a.sizee`; did you mean `streams.a.size`? (options of `uniform`: ",
        ),
    ] {
        let kind = if wrong.starts_with("streams") { "mixed" } else { "uniform" };
        let found = resolve_generator(Some(kind), None, &[wrong.to_owned()]);
        let line = found.expect_err(wrong).to_string();
        let start = format!("--set {wrong}: {expected}");
        assert!(line.starts_with(&start), "{line}\n{start}");
    }
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    for (wrong, expected) in [
        (
            "[host]\nreplay = \"opne\"",
            "exp.toml:6: `host.replay`: unknown name `opne`; did you mean `open`? (known: open, \
             closed, untimed)",
        ),
        (
            "[buffer]\nscheme = \"bplr\"",
            "exp.toml:6: `buffer.scheme`: unknown name `bplr`; did you mean `bplru`? (known: ",
        ),
        (
            "[buffer]\nscheme = [\n\"lru\",\n\"fob\"]",
            "exp.toml:8: `buffer.scheme`: unknown name `fob`; did you mean `fab`? (known: ",
        ),
        (
            "[ftl]\nmapping = { kind = \"bats\" }",
            "exp.toml:6: `ftl.mapping`: unknown name `bats`; did you mean `bast`? (known: ",
        ),
        (
            "[buffer]\nscheme = { kind = 3 }",
            "exp.toml:6: `buffer.scheme.kind`: found 3, expected one of ",
        ),
    ] {
        let line = error(&after_good(wrong), &[]);
        assert!(line.starts_with(expected), "{line}\n{expected}");
    }
    assert_eq!(
        error("preset = \"hbm-2011\"", &[]),
        "exp.toml:1: unknown preset `hbm-2011`; did you mean `hbm-2010`? \
         (known: bplru-2008, epo-2011, hbm-2010, multibank-2009, nvme-tlc, supa-2017)"
    );
    assert_eq!(
        error(&after_good(""), &["preset=[hbm-2010,nvme]"]),
        "--set preset=[hbm-2010,nvme]: unknown preset `nvme`; did you mean `nvme-tlc`? \
         (known: bplru-2008, epo-2011, hbm-2010, multibank-2009, nvme-tlc, supa-2017)"
    );
}

#[test]
fn wrong_types_say_what_was_found_and_expected() {
    for (wrong, expected) in [
        (
            "[nand]\nchannels = \"two\"",
            "`nand.channels`: found the text \"two\", expected a whole number from 0 to 4294967295",
        ),
        (
            "[nand]\nchannels = 1.5",
            "`nand.channels`: found the number 1.5, expected a whole number from 0 to 4294967295",
        ),
        (
            "[nand]\nchannels = -1",
            "`nand.channels`: found the number -1, expected a whole number from 0 to 4294967295",
        ),
        (
            "[nand]\nchannels = 99999999999999999999",
            "`nand.channels`: 99999999999999999999 is too large for a number",
        ),
        (
            "[nand]\nmulti_plane = \"yes\"",
            "`nand.multi_plane`: found the text \"yes\", expected true or false",
        ),
        ("[nand]\ntiming = 3", "`nand.timing`: found the number 3, expected a table"),
        (
            "[host]\nreplay = 3",
            "`host.replay`: found the number 3, expected one of open, closed, untimed",
        ),
        (
            "[host]\nspeedup = \"fast\"",
            "`host.speedup`: found the text \"fast\", expected a number",
        ),
        ("[host]\nspeedup = inf", "`host.speedup`: found inf, expected a finite number"),
        (
            "[host]\nspeedup = 2020-01-01",
            "`host.speedup`: found the date 2020-01-01, expected a number, a text or a table; \
             quote a text",
        ),
        ("[buffer]\nsize = 3", "`buffer.size`: 3 has no unit; write it like \"16 MiB\""),
        (
            "[buffer]\nsize = \"3 MeB\"",
            "`buffer.size`: `3 MeB` has the unknown unit `MeB` \
             (known: TiB, GiB, MiB, KiB, TB, GB, MB, kB, B); write it like \"16 MiB\"",
        ),
        (
            "[buffer]\nscheme = 3",
            "`buffer.scheme`: found 3, expected the name of a buffer scheme or a table with `kind`",
        ),
    ] {
        assert_eq!(error(&after_good(wrong), &[]), format!("exp.toml:6: {expected}"));
    }
    assert_eq!(
        error("preset = 3", &[]),
        "exp.toml:1: `preset`: found the number 3, expected the name of a preset"
    );
    let line = error(&after_good("[buffer.scheme]\nkind = \"bplru\"\npadding = 3"), &[]);
    assert_eq!(
        line,
        "exp.toml:7: `buffer.scheme.padding`: found the number 3, expected true or false"
    );
}

#[test]
fn missing_keys_say_how_to_give_them() {
    let presets = "preset = \"bplru-2008\" or \"epo-2011\" or \"hbm-2010\" or \"multibank-2009\" \
        or \"nvme-tlc\" or \"supa-2017\"";
    assert_eq!(
        error("\n[workload]\npath = \"w\"", &[]),
        format!(
            "exp.toml:1: `nand` is missing; give it, or start from a preset, for example {presets}"
        )
    );
    assert_eq!(
        error("[workload]\npath = \"w\"\n\n[nand]\nchannels = 1", &[]),
        format!(
            "exp.toml:4: `nand.chips_per_channel` is missing; give it, or start from a preset, for \
             example {presets}"
        )
    );
    assert_eq!(
        error("preset = \"hbm-2010\"", &[]),
        "exp.toml:1: `workload` is missing; say what to replay, for example workload.path = \
         \"TRACE\""
    );
    assert_eq!(
        error("preset = \"hbm-2010\"\n\n[workload]\nfirst = 5", &[]),
        "exp.toml:3: `workload.path`: is missing; name a trace file, or make requests with \
         generate = { kind = \"uniform\", requests = 1000, footprint = \"1 GiB\" }"
    );
    let none = resolve(None, "", &[]).unwrap_err().to_string();
    assert!(none.starts_with("configuration: `"), "{none}");
}

#[test]
fn broken_toml_is_placed() {
    for (wrong, expected) in [
        (
            "[buffer]\nsize = \"3 MiB\"\nsize = \"4 MiB\"",
            "exp.toml:7: `size` is given twice here; keep one of them",
        ),
        ("[nand]\n[nand]", "exp.toml:6: `nand` is given twice here; keep one of them"),
        ("[nand", "exp.toml:5: not TOML: unclosed table, expected `]`"),
        (
            "[host]\nreplay = open",
            "exp.toml:6: not TOML at `open`: string values must be quoted, expected literal string",
        ),
    ] {
        assert_eq!(error(&after_good(wrong), &[]), expected);
    }
    let deep = "a.".repeat(40);
    let line = error(&format!("{deep}b = 1"), &[]);
    assert_eq!(line, "exp.toml:1: tables are nested more than 16 deep");
    let deeper = format!("x = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(error(&deeper, &[]).starts_with("exp.toml:1: not TOML"), "no stack is that deep");
}

#[test]
fn cases_have_a_name_and_settings() {
    for (wrong, expected) in [
        (
            "[[case]]\nseed = 2",
            "exp.toml:5: `case.name` is missing; it tells the case from the others in results",
        ),
        ("[[case]]\nname = 3", "exp.toml:6: `case.name`: found the number 3, expected a text"),
        (
            "[[case]]\nname = \"a\"\nbuffer.siz = 3",
            "exp.toml:7: unknown key `buffer.siz`; did you mean `buffer.size`? \
             (known here: size, write_back, battery, power_loss, hold_up, scheme)",
        ),
        (
            "[[case]]\nname = \"a\"\n[case.case]\nname = \"b\"",
            "exp.toml:7: `case.case`: a case cannot hold another one",
        ),
    ] {
        assert_eq!(error(&after_good(wrong), &[]), expected);
    }
    let text = error("preset = \"bplru-2008\"\ncase = 3", &[]);
    assert_eq!(
        text,
        "exp.toml:2: `case`: found the number 3, expected a table with a `name` and settings, such \
         as [[case]]"
    );
}

#[test]
fn axes_must_hold_plain_values() {
    for (wrong, expected) in [
        (
            "[buffer]\nsize = []",
            "exp.toml:6: `buffer.size`: found an empty list, expected one value or more (a list is \
             an axis)",
        ),
        (
            "[buffer]\nsize = [\"1MiB\",\n[\"1MiB\"]]",
            "exp.toml:7: `buffer.size`: a list inside a list; each element of an axis is one value",
        ),
    ] {
        assert_eq!(error(&after_good(wrong), &[]), expected);
    }
    let thousand = format!("[{}]", vec!["1"; 1000].join(","));
    let line = error(
        &after_good(&format!("[nand]\nchannels = {thousand}\nplanes_per_die = {thousand}")),
        &[],
    );
    assert_eq!(
        line,
        "exp.toml:1: the axes give 1000000 experiments, at most 100000 are allowed; shorten a list"
    );
}

#[test]
fn options_are_placed_by_their_own_text() {
    for (set, expected) in [
        (
            "buffer.sizee=4MiB",
            "unknown key `buffer.sizee`; did you mean `buffer.size`? (known here: size, \
             write_back, battery, power_loss, hold_up, scheme)",
        ),
        ("buffer.size=4", "`buffer.size`: 4 has no unit; write it like \"16 MiB\""),
        ("buffer.size", "expected key=value, for example buffer.size=16MiB"),
        (
            "buffer.size=",
            "`buffer.size` has no value, expected for example buffer.size=1; write \
             buffer.size='\"\"' for an empty text",
        ),
        (
            "buffer..size=1MiB",
            "`buffer..size` is not a key, expected names joined by dots, for example buffer.size",
        ),
        (
            "buffer size=1MiB",
            "`buffer size` is not a key, expected names joined by dots, for example buffer.size",
        ),
        ("buffer.size=[1MiB,,2MiB]", "a list element is empty"),
        ("buffer.scheme={kind=", "`{kind=` is not TOML: unclosed inline table, expected `}`"),
        ("name=\"open", "`\"open` is not TOML: invalid basic string, expected `\"`"),
    ] {
        assert_eq!(error(&after_good(""), &[set]), format!("--set {set}: {expected}"));
    }
    let file = after_good("[buffer]\nscheme = [\"lru\", \"fab\"]");
    assert_eq!(
        error(&file, &["buffer.scheme.padding=false"]),
        "--set buffer.scheme.padding=false: `buffer.scheme` is a list (exp.toml:6), set all of it \
         at once"
    );
}
