//! The nearest right name.

/// The candidate that `word` most likely stands for.
pub(super) fn nearest<'c>(word: &str, candidates: &[&'c str]) -> Option<&'c str> {
    let word = word.to_lowercase();
    let similarity = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        // Edits find slips of the finger, the common beginning finds shortened names.
        strsim::normalized_damerau_levenshtein(&word, &candidate)
            .max(strsim::jaro_winkler(&word, &candidate) - 0.15)
    };
    let best = candidates.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(best) >= 0.6).then_some(best)
}

/// `; did you mean x? (known: ...)`.
pub(super) fn among(word: &str, candidates: &[&str]) -> String {
    let meant = nearest(word, candidates)
        .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    if candidates.is_empty() {
        meant
    } else {
        format!("{meant} (known: {})", candidates.join(", "))
    }
}
