//! The figures as tables of at most 100 columns.

use std::fmt::Write as _;

use crate::buffers::Rate;
use crate::generators::MakeRate;
use crate::goals::{Better, Figure};
use crate::instructions::Cost;
use crate::readers::ReadRate;
use crate::scale;

/// Goals and figures.
pub fn figures(figures: &[Figure]) -> String {
    let mut text = format!(
        "{:<6}{:<50}{:>9} {:<10}{:>7} {:>7}  {}\n",
        "", "what", "measured", "", "goal", "before", "result"
    );
    for f in figures {
        let goal = format!(
            "{}{}",
            if f.better == Better::More { ">=" } else { "<=" },
            (f.goal * 100.0).round() / 100.0
        );
        let _ = writeln!(
            text,
            "{:<6}{:<50}{:>9} {:<10}{:>7}{}{:>7}  {}",
            f.name,
            f.what,
            short(f.value),
            f.unit,
            goal,
            if f.ratio < 1.0 { "!" } else { " " },
            f.before.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}x")),
            &f.hash[..6],
        );
    }
    if figures.iter().any(|f| f.ratio < 1.0) {
        text.push_str("! the goal is missed on this machine\n");
    }
    if figures.iter().any(|f| f.before.is_some()) {
        text.push_str(
            "before: how many times as good as in the baseline, on whatever machine that was\n",
        );
    }
    text
}

/// Buffers.
pub fn rates(rates: &[Rate]) -> String {
    let mut text = format!(
        "{:<20}{:>16}{:>12}{:>20}  {}\n",
        "buffer, untimed", "M accesses/s", "hit ratio", "flash ops/access", "result"
    );
    for r in rates {
        let _ = writeln!(
            text,
            "{:<20}{:>16.1}{:>12.3}{:>20.2}  {}",
            r.name,
            r.rate,
            r.hit_ratio,
            r.flash_ops_per_access,
            &r.hash[..6]
        );
    }
    text
}

/// Trace formats.
pub fn read_rates(rates: &[ReadRate]) -> String {
    let mut text = format!(
        "{:<20}{:>16}{:>10}{:>28}  {}\n",
        "trace format, read", "M requests/s", "MB/s", "first pass, M requests/s", "file"
    );
    for r in rates {
        let _ = writeln!(
            text,
            "{:<20}{:>16.2}{:>10.0}{:>28.2}  {}",
            r.name,
            r.rate,
            r.megabytes,
            r.first_pass_rate,
            &r.hash[..6]
        );
    }
    text
}

/// Generators.
pub fn make_rates(rates: &[MakeRate]) -> String {
    let mut text = format!("{:<20}{:>16}  {}\n", "generator", "M requests/s", "result");
    for r in rates {
        let _ = writeln!(text, "{:<20}{:>16.2}  {}", r.name, r.rate, &r.hash[..6]);
    }
    text
}

/// Instructions, and time beside them.
pub fn costs(costs: &[Cost]) -> String {
    let mut text = format!("{:<18}", "instructions");
    let Some(first) = costs.first() else { return text };
    for (size, _) in &first.instructions {
        let _ = write!(text, "{:>12}", format!("ins. {size}"));
    }
    text.push_str("    ratio  limit");
    for (size, _) in &first.ns {
        let _ = write!(text, "{:>10}", format!("ns {size}"));
    }
    text.push('\n');
    for c in costs {
        let _ = write!(text, "{:<7}{:<11}", c.work.name(), c.name);
        for (_, n) in &c.instructions {
            let _ = write!(text, "{n:>12.1}");
        }
        let _ = write!(text, "{:>8.2}x{:>6.1}x", c.ratio, c.limit);
        for (_, ns) in &c.ns {
            let _ = write!(text, "{ns:>10.1}");
        }
        text.push_str(if c.ratio > c.limit { " missed\n" } else { "\n" });
    }
    text
}

/// What a flash operation costs on drives of several sizes, and how far its instructions are apart.
pub fn scales(costs: &[scale::Cost], ratio: Option<f64>) -> String {
    let mut text = format!(
        "{:<8}{:>10}{:>14}{:>10}{:>12}{:>10}{:>10}\n",
        "chips", "drive", "instructions", "ns", "B per page", "WAF", "fill s"
    );
    for c in costs {
        let counted = c.instructions.map_or_else(|| "-".to_owned(), |n| format!("{n:.1}"));
        let _ = writeln!(
            text,
            "{:<8}{:>10}{counted:>14}{:>10.1}{:>12.2}{:>10.2}{:>10.1}",
            c.size.chips,
            c.size.exported.to_string(),
            c.ns,
            c.bytes_per_page,
            c.waf,
            c.fill_s
        );
    }
    if let Some(ratio) = ratio {
        let _ = writeln!(
            text,
            "Instructions for a flash operation: {ratio:.2}x apart (goal: at most 1.3x)"
        );
    }
    text
}

fn short(value: f64) -> String {
    if value >= 10.0 { format!("{value:.1}") } else { format!("{value:.3}") }
}
