//! Plays the examples of buffer schemes on a small drive, request by request, and keeps every
//! decision.

use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Map, Value, json};

use crate::buffer::{Buffer, BufferConfig, Outcome};
use crate::config::DeviceConfig;
use crate::device::{Device, DeviceError, Options};
use crate::host::{Op, Request};
use crate::metrics::observer::{Decision, Fault, Hears, Observer, Occasion};
use crate::support::ids::Lpn;
use crate::support::registry::Example;

/// A decision that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Number of the request; none at the end.
    pub request: Option<u64>,
    /// What the buffer was asked.
    pub occasion: Occasion,
    /// What it decided.
    pub outcome: Outcome,
}

/// One request of an example, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The request, as the example writes it.
    pub asked: String,
    /// The buffer's decisions, in order.
    pub decided: Vec<Decided>,
    /// What the buffer holds afterwards, most recent first: pages or blocks of pages.
    pub state: Vec<Vec<Lpn>>,
}

const PAGE: u64 = 4096;

/// Plays an example of the scheme called `name`.
///
/// # Errors
/// The example is written wrongly, or the drive refuses or fails.
pub fn play(name: &str, example: &Example) -> Result<Vec<Step>, String> {
    let asked = parse(example.requests)?;
    let requests = || asked.iter().map(|(_, request)| *request);
    let end = requests().map(|request| request.offset + request.len).max().unwrap_or_default();
    let mut device = drive(&scheme(name, example.options)?, example, end)?;
    let fault = |error: DeviceError| format!("{name}: {error}");
    device.precondition().map_err(fault)?;
    if device.needs_future() {
        device.foresee(requests().map(Ok)).map_err(fault)?;
    }
    let (sender, decisions) = channel();
    device.observe(Box::new(Keeper(sender)));
    let mut steps = Vec::new();
    for (text, request) in &asked {
        device.submit(request).map_err(fault)?;
        let decided = taken(&decisions);
        steps.push(Step { asked: text.clone(), decided, state: device.buffer().dump() });
    }
    device.finish().map_err(fault)?;
    Ok(steps)
}

/// A scheme with the options of an example.
///
/// # Errors
/// There is no such scheme, or it has no such option.
pub fn scheme(name: &str, options: &str) -> Result<BufferConfig, String> {
    let mut table = Map::from_iter([("kind".to_owned(), json!(name))]);
    if !options.is_empty() {
        let more: Map<String, Value> =
            serde_json::from_str(options).map_err(|error| format!("{name}: {options}: {error}"))?;
        table.extend(more);
    }
    serde_json::from_value(Value::Object(table)).map_err(|error| format!("{name}: {error}"))
}

/// A drive of one unit, in RAM and without time, just large enough.
fn drive(scheme: &BufferConfig, example: &Example, end: u64) -> Result<Device, String> {
    let block = u64::from(example.pages_per_block) * PAGE;
    let blocks = end.div_ceil(block).max(2);
    let config = json!({
        "nand": {
            "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1,
            "blocks_per_plane": blocks + 8, "pages_per_block": example.pages_per_block, "page_size": "4 KiB",
            "timing": {"read": "25 us", "program": "200 us", "erase": "1500 us", "transfer": "100 us"},
        },
        "ftl": {"exported": format!("{} KiB", blocks * block / 1024), "mapping": "page"},
        "buffer": {"size": format!("{} KiB", u64::from(example.capacity) * PAGE / 1024), "scheme": scheme},
        "host": {"replay": "untimed", "end_of_run": "keep"},
        "precondition": {"state": "full"},
    });
    let config: DeviceConfig = serde_json::from_value(config).map_err(|error| error.to_string())?;
    Device::new(&config, Options { verify: true }).map_err(|error| error.to_string())
}

/// The requests of an example, each with its text.
fn parse(text: &str) -> Result<Vec<(String, Request)>, String> {
    text.split(',').map(|part| Ok((part.trim().to_owned(), request(part.trim())?))).collect()
}

fn request(text: &str) -> Result<Request, String> {
    let wrong = || format!("`{text}` is no request; write W 0-2, R 3, W 9 fua, T 4-7 or F");
    let mut words = text.split_whitespace();
    let op = match words.next() {
        Some("R") => Op::Read,
        Some("W") => Op::Write,
        Some("T") => Op::Trim,
        Some("F") => Op::Flush,
        _ => return Err(wrong()),
    };
    let (first, last) = if op == Op::Flush {
        (0, None)
    } else {
        let pages = words.next().ok_or_else(wrong)?;
        let (first, last) = pages.split_once('-').unwrap_or((pages, pages));
        let number = |text: &str| text.parse::<u32>().map(u64::from).map_err(|_| wrong());
        (number(first)?, Some(number(last)?))
    };
    let fua = match words.next() {
        None => false,
        Some("fua") if op == Op::Write => true,
        Some(_) => return Err(wrong()),
    };
    let count = match last {
        Some(last) => (last + 1).checked_sub(first).filter(|&count| count > 0).ok_or_else(wrong)?,
        None => 0,
    };
    if words.next().is_some() {
        return Err(wrong());
    }
    Ok(Request { arrival_ns: 0, op, offset: first * PAGE, len: count * PAGE, volume: 0, fua })
}

/// Keeps decisions.
#[derive(Debug)]
struct Keeper(Sender<Decided>);

impl Observer for Keeper {
    fn on_access(&mut self, decision: &Decision<'_>, _: &dyn Buffer) -> Result<Hears, Fault> {
        let Decision { request, occasion, outcome } = decision;
        // Nobody listens any more once the steps have been played.
        let _ = self.0.send(Decided {
            request: *request,
            occasion: occasion.clone(),
            outcome: (*outcome).clone(),
        });
        Ok(Hears::Yes)
    }

    fn reads_details(&self) -> bool {
        true
    }
}

fn taken(decisions: &Receiver<Decided>) -> Vec<Decided> {
    decisions.try_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_they_are_written() {
        let read =
            |text| parse(text).unwrap().into_iter().map(|(_, request)| request).collect::<Vec<_>>();
        let requests = read("W 0-2, R 3,W 9 fua, T 4-7, F");
        let shapes: Vec<_> =
            requests.iter().map(|r| (r.op, r.offset / PAGE, r.len / PAGE, r.fua)).collect();
        let expected = [
            (Op::Write, 0, 3, false),
            (Op::Read, 3, 1, false),
            (Op::Write, 9, 1, true),
            (Op::Trim, 4, 4, false),
            (Op::Flush, 0, 0, false),
        ];
        assert_eq!(shapes, expected);
        for wrong in ["", "W", "W x", "W 3-2", "R 3 fua", "F 1", "W 1 2", "X 1", "W 0,"] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains("is no request"), "{wrong}: {error}");
        }
    }
}
