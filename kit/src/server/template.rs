//! URI templates, read backwards: which values a URI has in the places of the variables.
//!
//! No crate that is kept up does this: those that are in wide use only fill templates in, and of the two that match one is
//! under the AGPL and the other is at 0.0.2.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

/// A URI with variables, as RFC 6570 writes them: `{id}` is one segment, and `{+path}` may have several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable { name: String, is_path: bool },
}

impl Template {
    /// Reads a template, or says what is wrong with it.
    pub(crate) fn parse(uri: &str) -> Result<Template, &'static str> {
        let mut parts = Vec::new();
        let mut rest = uri;
        while let Some((text, behind)) = rest.split_once('{') {
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            } else if !parts.is_empty() {
                return Err("two variables need a text between them");
            }
            let (name, behind) = behind.split_once('}').ok_or("a `{` has no `}`")?;
            let (name, is_path) = match name.strip_prefix('+') {
                Some(name) => (name, true),
                None => (name, false),
            };
            if name.is_empty() || !name.chars().all(|letter| letter.is_alphanumeric() || letter == '_') {
                return Err("a variable is `{name}` or `{+name}`, with letters, digits and `_`");
            }
            parts.push(Part::Variable { name: name.to_owned(), is_path });
            rest = behind;
        }
        if rest.contains('}') {
            return Err("a `}` has no `{`");
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Template(parts))
    }

    /// Whether there is one URI alone.
    pub(crate) fn is_fixed(&self) -> bool {
        self.0.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// The values of the variables in a URI; `None` if it does not fit the template. A variable is never empty.
    pub(crate) fn values(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut values = BTreeMap::new();
        let mut rest = uri;
        let mut parts = self.0.as_slice();
        while let Some((part, others)) = parts.split_first() {
            parts = others;
            match part {
                Part::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Part::Variable { name, is_path } => {
                    // What is behind a variable is a text, or the end. The last text may stand in the value before it, too.
                    let length = match parts {
                        [Part::Text(last)] => rest.strip_suffix(last.as_str())?.len(),
                        [Part::Text(text), ..] if *is_path => rest.rfind(text.as_str())?,
                        [Part::Text(text), ..] => rest.find(text.as_str())?,
                        _ => rest.len(),
                    };
                    let (value, behind) = rest.split_at_checked(length)?;
                    if value.is_empty() || !is_path && value.contains('/') {
                        return None;
                    }
                    values.insert(name.clone(), percent_decode_str(value).decode_utf8().ok()?.into_owned());
                    rest = behind;
                }
            }
        }
        rest.is_empty().then_some(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        Some(Template::parse(template).unwrap().values(uri)?.into_iter().collect())
    }

    fn one(name: &str, value: &str) -> Option<Vec<(String, String)>> {
        Some(vec![(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn the_values_of_variables_are_read_off_a_uri() {
        assert_eq!(values("notes://all", "notes://all"), Some(vec![]));
        assert_eq!(values("notes://{id}", "notes://7"), one("id", "7"));
        assert_eq!(values("notes://{id}/text", "notes://a%2Fb%20c/text"), one("id", "a/b c"));
        assert_eq!(values("file:///{+path}", "file:///a/b.txt"), one("path", "a/b.txt"));
        assert_eq!(values("x://{+path}.txt", "x://a.txt/b.txt"), one("path", "a.txt/b"));
        assert_eq!(values("x://{name}.txt", "x://a.txt.txt"), one("name", "a.txt"));
        let both = vec![("day".to_owned(), "2".to_owned()), ("month".to_owned(), "1".to_owned())];
        assert_eq!(values("day://{month}/{day}", "day://1/2"), Some(both));
    }

    #[test]
    fn a_uri_of_another_form_has_none() {
        for uri in ["notes://", "notes://7/8", "notes://7/", "other://7", "notes:/7", "", "notes://%ff"] {
            assert_eq!(values("notes://{id}", uri), None, "{uri}");
        }
        assert_eq!(values("notes://{id}/text", "notes://7/texts"), None);
        assert_eq!(values("notes://{id}/text", "notes://7/text/text"), None);
        assert_eq!(values("é{a}", "é"), None);
    }

    #[test]
    fn what_is_no_template_says_why() {
        for template in ["{", "}", "{}", "{a}{b}", "x{a", "{a b}", "{?a}", "a}b"] {
            assert!(Template::parse(template).is_err(), "{template}");
        }
        assert!(Template::parse("a").unwrap().is_fixed());
        assert!(!Template::parse("{a}").unwrap().is_fixed());
    }
}
