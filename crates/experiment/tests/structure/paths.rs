//! The paths that a file of Rust writes, taken from its tokens: so also those inside macros.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// What one file says of others; what stands in modules of tests does not count.
#[derive(Debug, Default)]
pub struct Written {
    /// Paths within the crate, as they are written: `crate::a::B`, `super::c`, `child::D`.
    pub paths: BTreeSet<Vec<String>>,
    /// Names that `use` brings into the file, and the paths for which they stand.
    pub names: BTreeMap<String, Vec<String>>,
    /// Modules in files of their own.
    pub children: BTreeSet<String>,
    /// Those of them that only tests have.
    pub tests: BTreeSet<String>,
}

/// Reads the text of the file `name`.
pub fn written(text: &str, name: &str) -> Written {
    let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut written = Written::default();
    items(&tokens.into_iter().collect::<Vec<_>>(), 0, &mut written);
    written
}

/// Reads a sequence of tokens, `depth` modules inside the file.
fn items(tokens: &[TokenTree], depth: usize, written: &mut Written) {
    let mut at = 0;
    while at < tokens.len() {
        if is_attribute_of_tests(tokens, at) {
            at = after_item(tokens, at + 2, written);
            continue;
        }
        match word(tokens, at).as_deref() {
            // `$crate` is whoever uses the macro; `pub(in crate::x)` uses nothing.
            Some("crate")
                if at > 0 && (is_punct(tokens, at - 1, '$') || is_word(tokens, at - 1, "in")) => {}
            Some("crate" | "super" | "self") if is_path(tokens, at) => {
                let path = simple(tokens, &mut at);
                // A macro that a crate exports stands at its root, wherever it is written.
                let is_exported =
                    path.len() == 2 && path[0] == "crate" && is_punct(tokens, at, '!');
                if !is_exported {
                    written.paths.extend(outside(path, depth));
                }
                continue;
            }
            Some("use") => {
                at = used(tokens, at + 1, depth, written);
                continue;
            }
            Some("mod") => {
                let name = word(tokens, at + 1).unwrap_or_default();
                if is_punct(tokens, at + 2, ';') {
                    written.children.insert(name);
                } else if let Some(TokenTree::Group(body)) = tokens.get(at + 2) {
                    items(&body.stream().into_iter().collect::<Vec<_>>(), depth + 1, written);
                }
                at += 3;
                continue;
            }
            Some(_)
                if is_path(tokens, at)
                    && !(at > 0 && is_punct(tokens, at - 1, ':'))
                    && depth == 0 =>
            {
                let path = simple(tokens, &mut at);
                written.paths.insert(path);
                continue;
            }
            _ => {}
        }
        if let TokenTree::Group(group) = &tokens[at] {
            items(&group.stream().into_iter().collect::<Vec<_>>(), depth, written);
        }
        at += 1;
    }
}

/// Takes the words of `a::b::c`.
fn simple(tokens: &[TokenTree], at: &mut usize) -> Vec<String> {
    let mut path = vec![word(tokens, *at).expect("a path begins with a word")];
    *at += 1;
    while is_double_colon(tokens, *at)
        && let Some(next) = word(tokens, *at + 2)
    {
        path.push(next);
        *at += 3;
    }
    path
}

/// Reads what follows `use`; the place after its semicolon.
fn used(tokens: &[TokenTree], at: usize, depth: usize, written: &mut Written) -> usize {
    let end = (at..tokens.len()).find(|&at| is_punct(tokens, at, ';')).unwrap_or(tokens.len());
    branch(&tokens[at..end], &[], depth, written);
    end + 1
}

/// One branch of the tree of a `use`, after the path `before`.
fn branch(tokens: &[TokenTree], before: &[String], depth: usize, written: &mut Written) {
    let mut path = before.to_vec();
    let mut alias = None;
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if word == "as" => {
                alias = self::word(tokens, at + 1);
                at += 1;
            }
            TokenTree::Ident(word) => path.push(word.to_string()),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let inside: Vec<_> = group.stream().into_iter().collect();
                for part in inside.split(
                    |token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','),
                ) {
                    if !part.is_empty() {
                        branch(part, &path, depth, written);
                    }
                }
                return;
            }
            // All that a module has: a use of that module.
            TokenTree::Punct(punct) if punct.as_char() == '*' => {
                written.paths.extend(outside(path, depth));
                return;
            }
            _ => {}
        }
        at += 1;
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let name = alias.or_else(|| path.last().cloned());
    if depth == 0
        && let Some(name) = name.filter(|name| *name != path[0])
    {
        written.names.insert(name, path.clone());
    }
    written.paths.extend(outside(path, depth));
}

/// A path as it reads at the top of the file; none where it does not leave the modules inside the
/// file.
fn outside(path: Vec<String>, depth: usize) -> Option<Vec<String>> {
    if depth == 0 || path.first().is_some_and(|first| first == "crate") {
        return Some(path);
    }
    let ups = path.iter().take_while(|word| *word == "super").count();
    (ups > depth).then(|| path[depth..].to_vec())
}

/// `#[cfg(test)]`.
fn is_attribute_of_tests(tokens: &[TokenTree], at: usize) -> bool {
    let Some(TokenTree::Group(group)) = tokens.get(at + 1) else { return false };
    is_punct(tokens, at, '#') && group.stream().to_string().replace(' ', "") == "cfg(test)"
}

/// The place after an item; a module of tests in a file of its own is remembered.
fn after_item(tokens: &[TokenTree], mut at: usize, written: &mut Written) -> usize {
    while is_punct(tokens, at, '#') {
        at += 2;
    }
    let mut ends_with_semicolon = false;
    while at < tokens.len() {
        match word(tokens, at).as_deref() {
            Some("use" | "const" | "static") => ends_with_semicolon = true,
            Some("fn") => ends_with_semicolon = false,
            Some("mod") if is_punct(tokens, at + 2, ';') => {
                written.tests.extend(word(tokens, at + 1));
            }
            _ => {}
        }
        let body =
            matches!(&tokens[at], TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        at += 1;
        if is_punct(tokens, at - 1, ';') || (body && !ends_with_semicolon) {
            break;
        }
    }
    at
}

fn word(tokens: &[TokenTree], at: usize) -> Option<String> {
    if let Some(TokenTree::Ident(word)) = tokens.get(at) { Some(word.to_string()) } else { None }
}

fn is_word(tokens: &[TokenTree], at: usize, text: &str) -> bool {
    word(tokens, at).is_some_and(|word| word == text)
}

fn is_punct(tokens: &[TokenTree], at: usize, c: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == c)
}

fn is_double_colon(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens, at, ':') && is_punct(tokens, at + 1, ':')
}

/// A word and `::` behind it.
fn is_path(tokens: &[TokenTree], at: usize) -> bool {
    word(tokens, at).is_some() && is_double_colon(tokens, at + 1)
}
