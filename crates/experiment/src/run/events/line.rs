//! One decision as one line of JSON, written by hand: a log of a million requests should cost
//! little.

use eraseblock_core::buffer::{Action, Answer, Evicted, Eviction, Note, Outcome};
use eraseblock_core::metrics::observer::{Decision, Occasion};

/// Appends the line of a decision, with its end.
pub(crate) fn push_line(out: &mut Vec<u8>, decision: &Decision<'_>) {
    let outcome = decision.outcome;
    out.push(b'{');
    if let Some(request) = decision.request {
        out.extend_from_slice(b"\"request\":");
        push_number(out, request);
        out.push(b',');
    }
    out.extend_from_slice(b"\"op\":\"");
    let (op, pages) = match &decision.occasion {
        Occasion::Access { first, count, write: false, .. } => ("read", Some((first, count))),
        Occasion::Access { first, count, write: true, .. } => ("write", Some((first, count))),
        Occasion::Force { first, count } => ("force", Some((first, count))),
        Occasion::Trim { first, count, .. } => ("trim", Some((first, count))),
        Occasion::Flush { .. } => ("flush", None),
        Occasion::End => ("end", None),
    };
    out.extend_from_slice(op.as_bytes());
    out.push(b'"');
    if let Some((first, count)) = pages {
        out.extend_from_slice(b",\"page\":");
        push_number(out, first.0);
        out.extend_from_slice(b",\"count\":");
        push_number(out, *count);
    }
    match &decision.occasion {
        Occasion::Access { .. } => {
            push_list(out, "answers", &outcome.answers, |out, &answer| push_answer(out, answer));
        }
        Occasion::Trim { dropped, .. } => {
            push_list(out, "dropped", dropped, |out, &lpn| push_number(out, lpn.0));
        }
        Occasion::Flush { battery: true } => out.extend_from_slice(b",\"battery\":true"),
        Occasion::Flush { .. } | Occasion::Force { .. } | Occasion::End => {}
    }
    if !outcome.notes.is_empty() {
        push_list(out, "notes", &outcome.notes, |out, note| push_note(out, outcome, note));
    }
    if !outcome.evictions.is_empty() {
        push_list(out, "evictions", &outcome.evictions, |out, eviction| {
            push_eviction(out, outcome, eviction);
        });
    }
    out.extend_from_slice(b"}\n");
}

fn push_answer(out: &mut Vec<u8>, answer: Answer) {
    out.extend_from_slice(match answer {
        Answer::Hit => b"\"hit\"",
        Answer::Insert => b"\"insert\"",
        Answer::Fill => b"\"fill\"",
        Answer::Bypass => b"\"bypass\"",
    });
}

fn push_note(out: &mut Vec<u8>, outcome: &Outcome, note: &Note) {
    out.extend_from_slice(b"{\"before\":");
    push_number(out, note.before);
    out.extend_from_slice(b",\"what\":");
    push_text(out, note.what);
    if let Some(value) = note.value {
        out.extend_from_slice(b",\"value\":");
        push_number(out, value);
    }
    let pages = &outcome.note_pages[note.start as usize..note.end as usize];
    if !pages.is_empty() {
        push_list(out, "pages", pages, |out, &lpn| push_number(out, lpn.0));
    }
    out.push(b'}');
}

fn push_eviction(out: &mut Vec<u8>, outcome: &Outcome, eviction: &Eviction) {
    out.extend_from_slice(b"{\"before\":");
    push_number(out, eviction.before);
    out.extend_from_slice(b",\"reason\":");
    push_text(out, eviction.reason);
    out.extend_from_slice(match eviction.action {
        Action::Evict => b",\"action\":\"flush\"",
        Action::EvictPadded | Action::EvictCompleted => b",\"action\":\"flush-padded\"",
        Action::WriteBack => b",\"action\":\"write-back\"",
        Action::Drop => b",\"action\":\"drop\"",
    });
    if let Some(hint) = eviction.hint {
        out.extend_from_slice(b",\"pattern\":");
        push_text(out, hint.pattern.name());
        if let Some(channel) = hint.channel {
            out.extend_from_slice(b",\"channel\":");
            push_number(out, channel);
        }
    }
    let pages = outcome.pages_of(eviction);
    push_list(out, "pages", pages, |out, page| push_number(out, page.lpn.0));
    out.extend_from_slice(b",\"dirty\":[");
    push_items(out, pages.iter().filter(|page| page.dirty), |out, page: &Evicted| {
        push_number(out, page.lpn.0);
    });
    out.extend_from_slice(b"]}");
}

fn push_list<T>(out: &mut Vec<u8>, key: &str, items: &[T], push: impl FnMut(&mut Vec<u8>, &T)) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":[");
    push_items(out, items.iter(), push);
    out.push(b']');
}

fn push_items<'a, T: 'a>(
    out: &mut Vec<u8>,
    items: impl Iterator<Item = &'a T>,
    mut push: impl FnMut(&mut Vec<u8>, &T),
) {
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push(out, item);
    }
}

fn push_number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// A scheme's words; most hold nothing that JSON escapes.
fn push_text(out: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use eraseblock_core::pattern::{Access, Hint, Pattern};
    use eraseblock_core::support::ids::{LogicalBlock, Lpn};

    use super::*;

    fn line(request: Option<u64>, occasion: Occasion, outcome: &Outcome) -> String {
        let mut out = Vec::new();
        push_line(&mut out, &Decision { request, occasion, outcome });
        let text = String::from_utf8(out).unwrap();
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{parsed}\n"), text, "written as serde_json would");
        text
    }

    #[test]
    fn an_access_says_what_became_of_each_page_and_what_left() {
        let mut out = Outcome { watched: true, ..Outcome::default() };
        out.note("threshold", Some(-2), []);
        out.pages
            .extend([(16, true), (17, false)].map(|(lpn, dirty)| Evicted { lpn: Lpn(lpn), dirty }));
        out.evict(0, Action::Evict, "full, \"quoted\"");
        out.answers.extend([Answer::Hit, Answer::Insert, Answer::Fill, Answer::Bypass]);
        out.note("moved", None, [1, 2].map(Lpn));
        out.evict_page(Evicted { lpn: Lpn(4_294_967_294), dirty: false }, "last");
        let pattern = Pattern::new(Access::Random, Access::Sequential);
        out.with_hint(Hint { block: LogicalBlock(0), pattern, channel: Some(3), again: false });
        let access = Occasion::Access { first: Lpn(8), count: 4, write: true, forced: false };
        assert_eq!(
            line(Some(7), access, &out),
            concat!(
                r#"{"request":7,"op":"write","page":8,"count":4,"answers":["hit","insert","fill","bypass"],"#,
                r#""notes":[{"before":0,"what":"threshold","value":-2},{"before":4,"what":"moved","pages":[1,2]}],"#,
                r#""evictions":[{"before":0,"reason":"full, \"quoted\"","action":"flush","pages":[16,17],"dirty":[16]},"#,
                r#"{"before":4,"reason":"last","action":"drop","pattern":"RW-SR","channel":3,"pages":[4294967294],"dirty":[]}]}"#,
                "\n"
            )
        );
    }

    #[test]
    fn other_lines_name_what_was_asked() {
        let none = Outcome::default();
        let trim = Occasion::Trim { first: Lpn(4), count: 8, dropped: [5, 6].map(Lpn).to_vec() };
        for (request, occasion, expected) in [
            (Some(1), trim, r#"{"request":1,"op":"trim","page":4,"count":8,"dropped":[5,6]}"#),
            (
                Some(2),
                Occasion::Flush { battery: true },
                r#"{"request":2,"op":"flush","battery":true}"#,
            ),
            (Some(3), Occasion::Flush { battery: false }, r#"{"request":3,"op":"flush"}"#),
            (
                Some(4),
                Occasion::Force { first: Lpn(1), count: 2 },
                r#"{"request":4,"op":"force","page":1,"count":2}"#,
            ),
            (None, Occasion::End, r#"{"op":"end"}"#),
        ] {
            assert_eq!(line(request, occasion, &none).trim_end(), expected);
        }
        let mut out = Outcome::default();
        out.pages.push(Evicted { lpn: Lpn(1), dirty: true });
        out.evict(0, Action::WriteBack, "flush command");
        out.pages.push(Evicted { lpn: Lpn(2), dirty: true });
        out.evict(1, Action::EvictPadded, "x");
        let flushed = line(Some(9), Occasion::Flush { battery: false }, &out);
        assert!(flushed.contains(r#""action":"write-back","pages":[1],"dirty":[1]"#), "{flushed}");
        assert!(
            flushed.contains(r#""action":"flush-padded","pages":[2],"dirty":[2]"#),
            "{flushed}"
        );
    }
}
