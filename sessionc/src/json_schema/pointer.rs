//! JSON pointers: where in a document a value is.

use super::tree::Tree;

/// The steps from the top of a document to a value, as keys have them: without the escapes of a written pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pointer(Vec<String>);

impl Pointer {
    /// The place behind these keys.
    pub(super) fn to(keys: &[&str]) -> Pointer {
        Pointer(keys.iter().map(|key| (*key).to_owned()).collect())
    }

    /// That of a reference within a document, `#/$defs/a~1b`; nothing if it leads elsewhere.
    pub(super) fn of_reference(target: &str) -> Option<Pointer> {
        let written = without_percent(target.strip_prefix('#')?);
        let mut steps = written.split('/');
        let is_pointer = steps.next() == Some("");
        is_pointer.then(|| Pointer(steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect()))
    }

    /// The key of the last step; nothing for the document itself.
    pub(super) fn last(&self) -> Option<&str> {
        self.0.last().map(String::as_str)
    }

    /// The value there.
    pub(super) fn find<'t>(&self, document: &'t Tree) -> Option<&'t Tree> {
        self.0.iter().try_fold(document, |here, key| here.step(key))
    }
}

/// A fragment of a URI without percent signs.
fn without_percent(fragment: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let hexadecimal = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match hexadecimal.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_leads_to_what_serde_finds() {
        let text = r#"{"a":[{"b/c":1,"m~n":2,"":{"~1":3}}],"01":[7,8]}"#;
        let document: Tree = serde_json::from_str(text).unwrap();
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        let json = |tree: &Tree| serde_json::from_str::<serde_json::Value>(&tree.to_string()).unwrap();
        for written in [
            "",
            "/a",
            "/a/0",
            "/a/00",
            "/a/+0",
            "/a/-",
            "/a/1",
            "/a/0/b~1c",
            "/a/0/b/c",
            "/a/0/m~0n",
            "/a/0/",
            "/a/0//~01",
            "/01",
            "/01/1",
            "/01/01",
            "/b",
        ] {
            let found = Pointer::of_reference(&format!("#{written}")).unwrap().find(&document);
            let expected = value.pointer(written).cloned();
            assert_eq!(found.map(json), expected, "{written}");
        }
        for other in ["a.json#/a", "#a", "/a", ""] {
            assert_eq!(Pointer::of_reference(other), None, "{other}");
        }
        let escaped = Pointer::of_reference("#/$defs/a~1b%20c").unwrap();
        assert_eq!((escaped.last(), &escaped), (Some("a/b c"), &Pointer::to(&["$defs", "a/b c"])));
    }
}
