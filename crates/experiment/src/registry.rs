//! What can be configured: every buffer, FTL, device, trace format, generator and stand-in, with
//! its options.

use eraseblock_core::ftl::gc::{CHOICES, GcConfig};
use eraseblock_core::metrics::Metric;
use eraseblock_core::support::registry::{Choice, Cost, Entry};
use eraseblock_core::{buffer, ftl};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::experiment::Experiment;
use crate::presets;

/// Everything that `eraseblock list` shows.
#[derive(Debug, Serialize)]
struct Registry {
    buffers: Vec<Item>,
    ftls: Vec<Item>,
    allocators: Vec<Item>,
    victims: Vec<Item>,
    levellers: Vec<Item>,
    devices: Vec<Item>,
    formats: Vec<Json>,
    generators: Vec<Item>,
    arrivals: Vec<Item>,
    #[serde(rename = "stand-ins")]
    stand_ins: Vec<Item>,
    metrics: Vec<MetricItem>,
}

/// A metric, and what it adds to a record.
#[derive(Debug, Serialize)]
struct MetricItem {
    name: &'static str,
    title: &'static str,
    summary: &'static str,
    /// Every run has it; else `asked_by` says how to get it.
    always: bool,
    asked_by: String,
    /// A run without time has none.
    needs_time: bool,
    figures: Vec<FigureItem>,
    /// None: there for those who read all items alike.
    options: [(); 0],
}

/// Figures of a record.
#[derive(Debug, Serialize)]
struct FigureItem {
    /// Such as `service_ns.{read,write}.{io,gc}`.
    path: String,
    what: &'static str,
}

/// One thing that has a name in a configuration.
#[derive(Debug, Serialize)]
struct Item {
    name: String,
    title: String,
    summary: String,
    /// Where it was published; empty where it was not.
    paper: String,
    year: Option<u16>,
    /// From whose description it is built, where it was not the paper itself; else empty.
    described_in: &'static str,
    /// Known only from its abstract or from hearsay, not from a full description.
    reconstruction: bool,
    /// It knows the future, and is no scheme for a drive but a bound for the others.
    bound: bool,
    options: Vec<OptionItem>,
    /// Other names that readers may look for.
    also: &'static [&'static str],
    /// What its source leaves open.
    choices: Vec<ChoiceItem>,
    #[serde(flatten)]
    reading: Option<Reading>,
    /// The values that a device sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Json>,
}

/// What a scheme's file tells somebody who reads it beside its paper.
#[derive(Debug, Serialize)]
struct Reading {
    /// How an access grows with what is kept.
    cost: Cost,
    /// The comment at the head of the file, as Markdown.
    page: String,
}

/// One option of a scheme.
#[derive(Debug, Serialize)]
struct OptionItem {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    default: Json,
    doc: String,
}

/// A choice that a source leaves to its reader.
#[derive(Debug, Serialize)]
struct ChoiceItem {
    /// The option that holds it: of a scheme its name; its path where that lies elsewhere, and for
    /// a device.
    option: String,
    /// The value that holds where nothing else is said.
    default: Json,
    /// Other values that a reader can defend.
    others: Vec<Json>,
    /// What is left open.
    open: String,
}

/// Every buffer, FTL, device, trace format and generator as one JSON object, for `list`, the
/// documentation and other programs.
pub fn registry_json() -> String {
    let registry = Registry {
        buffers: buffer::registry().iter().map(read_scheme).collect(),
        ftls: ftl::registry().iter().map(read_scheme).collect(),
        allocators: ftl::alloc::registry().iter().map(read_scheme).collect(),
        victims: ftl::victim::registry().iter().map(read_scheme).collect(),
        levellers: ftl::wear::registry().iter().map(read_scheme).collect(),
        devices: presets::all().iter().map(device).collect(),
        formats: eraseblock_traces::formats().map(format).collect(),
        generators: eraseblock_traces::generators().iter().map(scheme).collect(),
        arrivals: eraseblock_traces::arrivals().iter().map(scheme).collect(),
        stand_ins: eraseblock_traces::stand_ins().iter().map(stand_in).collect(),
        metrics: Metric::all().map(metric).collect(),
    };
    serde_json::to_string(&registry).expect("names and documents are texts")
}

fn scheme(entry: &Entry) -> Item {
    Item {
        name: entry.name.to_owned(),
        title: entry.about.title.to_owned(),
        summary: entry.about.summary.to_owned(),
        paper: entry.about.paper.to_owned(),
        year: entry.about.year,
        described_in: entry.about.described_in,
        also: entry.about.also,
        reconstruction: entry.about.reconstruction,
        bound: entry.about.bound,
        options: options(&entry.schema(), &(entry.defaults)()),
        choices: choices(entry),
        reading: None,
        values: None,
    }
}

/// What a scheme leaves open; a mapping that is composed of parts also what is open of its garbage
/// collection.
fn choices(entry: &Entry) -> Vec<ChoiceItem> {
    let own =
        entry.about.choices.iter().map(|choice| scheme_choice("", &(entry.defaults)(), choice));
    let gc = serde_json::to_value(GcConfig::default()).expect("options are plain");
    let shared: &[Choice] = if entry.about.composed { CHOICES } else { &[] };
    own.chain(shared.iter().map(|choice| scheme_choice("ftl.gc.", &gc, choice))).collect()
}

fn scheme_choice(section: &str, defaults: &Json, choice: &Choice) -> ChoiceItem {
    let value =
        |text: &&str| serde_json::from_str(text).expect("other readings are tested to be JSON");
    ChoiceItem {
        option: format!("{section}{}", choice.option),
        default: defaults.get(choice.option).cloned().unwrap_or_default(),
        others: choice.others.iter().map(value).collect(),
        open: choice.open.to_owned(),
    }
}

/// A scheme whose file is a page of the documentation.
fn read_scheme(entry: &Entry) -> Item {
    Item { reading: Some(Reading { cost: entry.about.cost, page: entry.page() }), ..scheme(entry) }
}

fn device(preset: &presets::Preset) -> Item {
    let about = preset.about();
    let values = preset.defaults().expect("presets are tested").to_json();
    let choice = |choice: presets::Choice| ChoiceItem {
        default: values
            .pointer(&format!("/{}", choice.option.replace('.', "/")))
            .cloned()
            .unwrap_or_default(),
        option: choice.option,
        others: choice.others,
        open: choice.open,
    };
    Item {
        name: preset.name.to_owned(),
        title: about.title,
        summary: about.summary,
        paper: about.paper,
        year: Some(about.year),
        described_in: "",
        also: &[],
        reconstruction: false,
        bound: false,
        options: Vec::new(),
        choices: about.choices.into_iter().map(choice).collect(),
        reading: None,
        values: Some(values),
    }
}

fn metric(metric: Metric) -> MetricItem {
    let (name, about) = (metric.name(), metric.about());
    let switch = Experiment::SWITCHED.contains(&metric);
    MetricItem {
        name,
        title: about.title,
        summary: about.summary,
        always: about.always,
        asked_by: match (about.always, switch) {
            (true, _) => String::new(),
            (false, true) => format!("{name} = true"),
            (false, false) => format!("metrics = [\"{name}\"]"),
        },
        needs_time: about.needs_time,
        figures: about
            .figures
            .iter()
            .map(|figure| FigureItem {
                path: format!("{}{}", figure.key, figure.below),
                what: figure.what,
            })
            .collect(),
        options: [],
    }
}

/// A stand-in; what it matches is told by `trace generate NAME --describe`.
fn stand_in(stand_in: &eraseblock_traces::StandIn) -> Item {
    let count = stand_in.statistics.len();
    Item {
        name: stand_in.name.clone(),
        title: stand_in.title.clone(),
        summary: format!("meets {count} published statistics."),
        paper: stand_in.source.clone(),
        year: Some(stand_in.year),
        described_in: "",
        also: &[],
        reconstruction: false,
        bound: false,
        options: Vec::new(),
        choices: Vec::new(),
        reading: None,
        values: None,
    }
}

/// A trace format: what the reader says of itself, its own options, and the keys that all items
/// have.
fn format(format: &eraseblock_traces::Format) -> Json {
    let mut item = serde_json::to_value(format).expect("a format is described by texts");
    let summary = format!("Recognised: {}.", format.recognised_by);
    let schema = format.option_schema().map(schemars::Schema::to_value).unwrap_or_default();
    let options = json!(options(&schema, &Json::Object(format.option_defaults())));
    let keys = [("summary", summary.into()), ("paper", format.reference.into())];
    let keys = keys.into_iter().chain([("year", Json::Null), ("options", options)]);
    for (key, value) in keys {
        item[key] = value;
    }
    item
}

fn options(schema: &Json, defaults: &Json) -> Vec<OptionItem> {
    let properties = schema.get("properties").and_then(Json::as_object);
    let option = |(name, property): (&String, &Json)| OptionItem {
        name: name.clone(),
        kind: kind(schema, property),
        default: defaults.get(name).cloned().unwrap_or_default(),
        doc: text(property, "description"),
    };
    properties.into_iter().flatten().map(option).collect()
}

/// The type of an option in a word or two: `boolean`, `integer`, `one of lru, fifo`.
fn kind(root: &Json, property: &Json) -> String {
    if let Some(names) = names(property) {
        return format!("one of {}", names.join(", "));
    }
    match property.get("type") {
        Some(Json::String(name)) => return name.clone(),
        Some(Json::Array(types)) => {
            let types = types.iter().filter_map(Json::as_str).filter(|&name| name != "null");
            return types.collect::<Vec<_>>().join(" or ");
        }
        _ => {}
    }
    if let Some(target) = property.get("$ref").and_then(Json::as_str) {
        let target = root.pointer(target.trim_start_matches('#'));
        return target.map_or_else(String::new, |target| kind(root, target));
    }
    let choices = ["anyOf", "oneOf", "allOf"].iter().find_map(|&key| property.get(key)?.as_array());
    let choices = choices.into_iter().flatten().filter(|choice| choice["type"] != "null");
    choices.map(|choice| kind(root, choice)).collect::<Vec<_>>().join(" or ")
}

/// The names of an enumeration, written as one list or as one constant for each documented name.
fn names(property: &Json) -> Option<Vec<&str>> {
    if let Some(names) = property.get("enum") {
        return names.as_array()?.iter().map(Json::as_str).collect();
    }
    let constants = property.get("oneOf")?.as_array()?;
    constants.iter().map(|choice| choice.get("const")?.as_str()).collect()
}

fn text(schema: &Json, key: &str) -> String {
    schema.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
}
