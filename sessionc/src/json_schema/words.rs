//! Names out of the texts of a schema.

/// A name as shapes have it: the words of a text, each with a capital.
pub(super) fn pascal(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
    };
    let name: String = words.filter_map(capital).collect();
    match name.chars().next() {
        Some(first) if first.is_ascii_digit() => format!("Shape{name}"),
        Some(_) => name,
        None => "Shape".to_owned(),
    }
}
