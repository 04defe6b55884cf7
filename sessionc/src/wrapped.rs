//! Prose in lines that a terminal has room for. Code and what stands below a `^` stay as they are.

/// How narrow lines may become.
const NARROWEST: usize = 24;
/// How far the rest of a sentence stands to the right of its beginning, where nothing else says it.
const INDENT: usize = 4;

/// A report whose sentences are broken into lines of this width. A sentence is a line that begins at the margin or, after
/// spaces, with a letter or with `= NAME: `. The lines of a source file have their number or a `|` before them.
pub(crate) fn wrapped(report: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return report.to_owned() };
    let mut text = String::with_capacity(report.len());
    for line in report.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        match hanging(bare).filter(|_| seen(bare) > width) {
            Some(indent) => text.push_str(&broken(bare, width, indent)),
            None => text.push_str(bare),
        }
        text.push_str(line.get(bare.len()..).unwrap_or_default());
    }
    text
}

/// How far the rest of a sentence is indented; nothing if the line is not a sentence.
fn hanging(line: &str) -> Option<usize> {
    let plain = without_colours(line);
    let inside = plain.trim_start_matches(' ');
    let before = plain.len().saturating_sub(inside.len());
    if let Some(rest) = inside.strip_prefix("= ") {
        let (name, _) = rest.split_once(": ")?;
        return Some(before.saturating_add("= : ".len()).saturating_add(name.len()));
    }
    let is_sentence = inside.starts_with(|first: char| first.is_alphabetic() || first == '`');
    is_sentence.then(|| before.saturating_add(INDENT))
}

fn broken(line: &str, width: usize, indent: usize) -> String {
    let start: String = line.chars().take_while(|character| *character == ' ').collect();
    let words = line.get(start.len()..).unwrap_or_default();
    // What follows the first line has the indent in its room.
    let room = width.saturating_sub(indent).max(NARROWEST);
    let first = width.saturating_sub(start.len()).max(NARROWEST);
    in_lines_after(words, first, room)
        .into_iter()
        .enumerate()
        .map(|(place, part)| match place {
            0 => format!("{start}{part}"),
            _ => format!("\n{:indent$}{part}", ""),
        })
        .collect()
}

/// A text in lines of so many characters, broken between words. A word that is longer has a line of its own.
pub(crate) fn in_lines(text: &str, width: usize) -> Vec<String> {
    in_lines_after(text, width, width)
}

/// The same with another width for the first line.
fn in_lines_after(text: &str, first: usize, width: usize) -> Vec<String> {
    if seen(text) <= first {
        return vec![text.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        let room = if lines.len() <= 1 { first } else { width };
        match lines.last_mut() {
            Some(line) if seen(line).saturating_add(1).saturating_add(seen(word)) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The words of a text. What stands in backticks is code, and one word with what is around it.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at_checked(end_of_word(rest)).unwrap_or((rest, ""));
        words.push(word);
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    words
}

/// Where the first word ends.
fn end_of_word(text: &str) -> usize {
    let mut is_code = false;
    for (place, character) in text.char_indices() {
        let closes = || text.get(place.saturating_add(1)..).is_some_and(|rest| rest.contains('`'));
        match character {
            '`' => is_code = !is_code && closes(),
            ' ' if !is_code => return place,
            _ => {}
        }
    }
    text.len()
}

/// How many characters of a text a terminal shows: those that colour it are not seen.
fn seen(text: &str) -> usize {
    without_colours(text).chars().count()
}

fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => _ = characters.by_ref().find(|end| *end == 'm'),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_broken_and_code_is_not() {
        let report = "error[S0001]: a sentence that is longer than the line\n\
                      \x20 --> a/path/that/is/much/longer/than/the/line.session:1:2\n\
                      \x20  |\n\
                      12 | Code = !That . ?Is . !Longer . ?Than . !The . ?Line\n\
                      \x20  | ^^^^ what is said of code stands where it is said\n\
                      \x20  = note: this is said of it, and it is too long, too\n";
        let expected = "error[S0001]: a sentence\n    that is longer than the\n    line\n\
                        \x20 --> a/path/that/is/much/longer/than/the/line.session:1:2\n\
                        \x20  |\n\
                        12 | Code = !That . ?Is . !Longer . ?Than . !The . ?Line\n\
                        \x20  | ^^^^ what is said of code stands where it is said\n\
                        \x20  = note: this is said of\n           it, and it is too long,\n           too\n";
        assert_eq!(wrapped(report, Some(28)), expected);
        assert_eq!(wrapped(report, None), report);
        assert_eq!(wrapped(report, Some(200)), report);
    }

    #[test]
    fn what_is_json_and_ends_without_a_line_end_stays() {
        let exchange = "   {\"method\": \"counter/add\", \"params\": {\"amount\": 1}}";
        assert_eq!(wrapped(exchange, Some(24)), exchange);
        assert_eq!(wrapped("", Some(24)), "");
    }

    #[test]
    fn backticks_hold_words_together() {
        assert_eq!(in_lines("write `a b c` here", 13), ["write `a b c`", "here"]);
        assert_eq!(in_lines("please write `a b c` here", 14), ["please write", "`a b c` here"]);
        assert_eq!(in_lines("write `a b c d e f` here", 10), ["write", "`a b c d e f`", "here"]);
        assert_eq!(in_lines("an open ` here", 9), ["an open `", "here"]);
    }

    #[test]
    fn colours_take_no_room() {
        let coloured = "\u{1b}[1;31mmust[order]\u{1b}[0m: a word after another word";
        let expected = "\u{1b}[1;31mmust[order]\u{1b}[0m: a word after\n    another word";
        assert_eq!(wrapped(coloured, Some(28)), expected);
    }
}
