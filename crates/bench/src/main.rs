//! `cargo run --release -p eraseblock-bench`: speed of engine, readers and generators beside their
//! goals.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A command line prints.

use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;

use eraseblock_bench::drive::Scale;
use eraseblock_bench::goals::GOALS;
use eraseblock_bench::{
    baseline, buffers, generators, instructions, readers, scale, stream, table,
};
use eraseblock_core::config::Bytes;
use lexopt::{Arg, Parser, ValueExt as _};

const HELP: &str = "\
Speed and cost of engine, trace readers and generators, each figure beside its goal.

Usage:
  eraseblock-bench [--quick] [--json] [--only a,b,c,e,f,g,buffers,readers,generators] [--runs N]
  eraseblock-bench instructions [--quick] [--json]   instructions (with valgrind) and ns per access
                                                     and per flush command of each buffer
  eraseblock-bench count BUFFER,... N BYTES...       fill buffers of these sizes and make N accesses of each, then N / 4
                                                     writes with a flush command each: what valgrind counts
  eraseblock-bench scale [--quick] [--json]          instructions, ns and memory for drives of up to 64 chips
                                                     and 4 TiB (takes 12 GB of memory and some minutes)
  eraseblock-bench drive CHIPS BYTES N               one of them with N requests, in stages: what valgrind counts
  eraseblock-bench zipf FILE N                       write N page accesses, Zipf over 800,000 pages (oracleGeneral)
  eraseblock-bench stream FILE BUFFER PAGES          time a buffer alone on such a file: accesses, hits, seconds

Options:
  --quick    A sixteenth of the size, one run
  --json     One JSON document
  --only     Some of the benches
  --runs     Runs of each, of which the best counts (3)
  --bless    Keep the figures as the baseline that others are shown beside

Examples:
  cargo run --release -p eraseblock-bench -- --only e --runs 1
  cargo run --release -p eraseblock-bench -- --only f,readers
  cargo run --release -p eraseblock-bench -- instructions
  cargo run --release -p eraseblock-bench -- scale
  cargo run --release -p eraseblock-bench -- zipf /tmp/zipf.oracleGeneral 10000000
  cargo run --release -p eraseblock-bench -- stream /tmp/zipf.oracleGeneral lru 80000
";

#[derive(Default)]
struct Call {
    words: Vec<String>,
    quick: bool,
    json: bool,
    bless: bool,
    only: Option<Vec<String>>,
    runs: Option<u32>,
}

fn main() -> ExitCode {
    let call = match parse() {
        Ok(Some(call)) => call,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{error}; --help shows how to call");
            return ExitCode::from(2);
        }
    };
    let words: Vec<&str> = call.words.iter().map(String::as_str).collect();
    let result = match words[..] {
        [] => speed(&call),
        ["instructions"] => costs(&call),
        ["count", names, n, ref sizes @ ..] => count(names, n, sizes),
        ["scale"] => scales(&call),
        ["drive", chips, bytes, n] => one_scale(chips, bytes, n),
        ["zipf", file, n] => {
            number("N", n).and_then(|n| stream::write_zipf(Path::new(file), n)).map(|()| true)
        }
        ["stream", file, name, pages] => pass(file, name, pages),
        _ => {
            eprintln!(
                "`{}` is no command, expected nothing, `instructions`, `count BUFFER,... N BYTES...`, \
                 `scale`, `drive CHIPS BYTES N`, `zipf FILE N` or `stream FILE BUFFER PAGES`",
                words.join(" ")
            );
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn parse() -> Result<Option<Call>, lexopt::Error> {
    let (mut parser, mut call) = (Parser::from_env(), Call::default());
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => return Ok(None),
            Arg::Long("quick") => call.quick = true,
            Arg::Long("json") => call.json = true,
            Arg::Long("bless") => call.bless = true,
            Arg::Long("only") => {
                call.only = Some(parser.value()?.string()?.split(',').map(str::to_owned).collect());
            }
            Arg::Long("runs") => call.runs = Some(parser.value()?.parse()?),
            Arg::Value(word) => call.words.push(word.string()?),
            _ => return Err(arg.unexpected()),
        }
    }
    let known = |name: &String| {
        ["buffers", "readers", "generators"].contains(&name.as_str())
            || GOALS.iter().any(|goal| goal.name == name)
    };
    if call.bless && (call.quick || call.json || call.only.is_some() || !call.words.is_empty()) {
        return Err("--bless: is about all figures at full scale, and prints the table".into());
    }
    match call.only.iter().flatten().find(|name| !known(name)) {
        Some(name) => {
            let known = "a, b, c, e, f, g, buffers, readers, generators";
            Err(format!("--only: `{name}` is no bench, expected some of {known}").into())
        }
        None => Ok(Some(call)),
    }
}

/// Speed and memory; missing a goal is told, not punished: other machines are slower.
fn speed(call: &Call) -> Result<bool, String> {
    let mut scale = if call.quick { Scale::QUICK } else { Scale::FULL };
    scale.runs = call.runs.unwrap_or(scale.runs).max(1);
    let wanted = |name: &str| call.only.as_ref().is_none_or(|only| only.iter().any(|o| o == name));
    let mut figures = Vec::new();
    for goal in GOALS.iter().filter(|goal| wanted(goal.name)) {
        figures.extend((goal.measure)(scale).map_err(|e| format!("bench {}: {e}", goal.name))?);
    }
    if call.quick {
        // The baseline is of the full scale.
        for figure in &mut figures {
            figure.before = None;
        }
    }
    let rates = if wanted("buffers") { buffers::rates(scale)? } else { Vec::new() };
    let read_rates = if wanted("readers") { readers::rates(scale)? } else { Vec::new() };
    let make_rates = if wanted("generators") { generators::rates(scale)? } else { Vec::new() };
    if call.json {
        let all = serde_json::json!({
            "goals": figures, "buffers": rates, "readers": read_rates, "generators": make_rates,
        });
        println!("{all:#}");
        return Ok(true);
    }
    if call.bless {
        println!("{}: written", baseline::bless(figures.iter().map(|one| (one.name, one.value)))?);
    }
    if !figures.is_empty() {
        println!("{}", table::figures(&figures));
        if call.quick {
            println!(
                "A sixteenth of the size: good for seeing that the benches run, not for the \
                 goals.\n"
            );
        }
    }
    if !rates.is_empty() {
        println!("{}", table::rates(&rates));
    }
    if !read_rates.is_empty() {
        println!("{}", table::read_rates(&read_rates));
    }
    if !make_rates.is_empty() {
        println!("{}", table::make_rates(&make_rates));
    }
    Ok(true)
}

fn costs(call: &Call) -> Result<bool, String> {
    let (sizes, accesses) = if call.quick {
        (&instructions::QUICK[..], 5_000)
    } else {
        (&instructions::SIZES[..], 400_000)
    };
    let Some(costs) = instructions::costs(sizes, accesses)? else {
        eprintln!(
            "valgrind is not installed; instructions are not counted (Debian: apt install valgrind)"
        );
        return Ok(false);
    };
    if call.json {
        println!("{:#}", serde_json::json!({ "instructions": costs }));
    } else {
        println!("{}", table::costs(&costs));
    }
    Ok(costs.iter().all(|cost| cost.ratio <= cost.limit))
}

fn scales(call: &Call) -> Result<bool, String> {
    let (sizes, requests) =
        if call.quick { (&scale::QUICK[..], 100_000) } else { (&scale::SIZES[..], 1_000_000) };
    let costs = scale::costs(sizes, requests, |what| eprintln!("{what}"))?;
    let (ratio, good) = scale::verdict(&costs);
    if call.json {
        println!("{:#}", serde_json::json!({ "scale": costs, "ratio": ratio }));
    } else {
        println!("{}", table::scales(&costs, ratio));
    }
    if ratio.is_none() {
        eprintln!(
            "valgrind is not installed; instructions are not counted (Debian: apt install valgrind)"
        );
    }
    Ok(good)
}

fn one_scale(chips: &str, bytes: &str, n: &str) -> Result<bool, String> {
    let size =
        scale::Size { chips: number("CHIPS", chips)?, exported: Bytes(number("BYTES", bytes)?) };
    scale::run_in_stages(size, number("N", n)?).map(|()| true)
}

fn number<T: FromStr>(what: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{what}: found `{text}`, expected a whole number"))
}

fn pass(file: &str, name: &str, pages: &str) -> Result<bool, String> {
    let pass = stream::pass(Path::new(file), name, number("PAGES", pages)?)?;
    println!("{}", serde_json::json!(pass));
    Ok(true)
}

fn count(names: &str, n: &str, sizes: &[&str]) -> Result<bool, String> {
    let sizes: Vec<Bytes> =
        sizes.iter().map(|bytes| number("BYTES", bytes).map(Bytes)).collect::<Result<_, _>>()?;
    let n = number("N", n)?;
    names.split(',').try_for_each(|name| instructions::run_all(name, &sizes, n)).map(|()| true)
}
