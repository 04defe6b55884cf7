//! Paths within a payload, as `next.node[0]`.

/// A key as a step of a path.
pub(super) fn step(key: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '-');
    if !key.is_empty() && key.chars().all(plain) { key.to_owned() } else { format!("[{key:?}]") }
}

/// Two paths, one behind the other.
pub(super) fn join(front: &str, back: &str) -> String {
    match (front.is_empty(), back.is_empty() || back.starts_with('[')) {
        (true, _) => back.to_owned(),
        (false, true) => format!("{front}{back}"),
        (false, false) => format!("{front}.{back}"),
    }
}
