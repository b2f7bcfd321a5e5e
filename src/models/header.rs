//! The names in a JSON header, of which its parser keeps the last where one comes twice.

use std::collections::BTreeSet;

/// The first name that its object has twice, or that is spelt with escapes, behind which another may hide. `header` is
/// valid JSON.
pub(super) fn doubtful_name(header: &str) -> Option<&str> {
    let mut objects: Vec<BTreeSet<&str>> = Vec::new();
    let (mut start, mut escaped, mut text) = (None, false, None);
    for (at, byte) in header.bytes().enumerate() {
        match (start, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(first), b'"') => (start, text) = (None, header.get(first..at)),
            (None, b'"') => start = Some(at + 1),
            (None, b'{') => objects.push(BTreeSet::new()),
            (None, b'}') => drop(objects.pop()),
            (None, b':') => {
                if let (Some(name), Some(names)) = (text.take(), objects.last_mut())
                    && (name.contains('\\') || !names.insert(name))
                {
                    return Some(name);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_values_and_counted_in_their_own_object() {
        assert_eq!(doubtful_name(r#"{"a": {"x": "a", "y": "}\"{"}, "x": [1, 2], "y": "x:"}"#), None);
        assert_eq!(doubtful_name(r#"{"a": 1, "b": {"c": 1}, "a" : 2}"#), Some("a"));
        assert_eq!(doubtful_name(r#"{"a": {"c": 1, "d": [], "c": 1}}"#), Some("c"));
        assert_eq!(doubtful_name(r#"{"a": 1, "\u0061": 2}"#), Some(r"\u0061"));
    }
}
