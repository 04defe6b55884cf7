//! [`Scopes`]: what a token permits, or is to permit.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A set of scopes. As text they are separated by spaces.
///
/// ```
/// use mcp_auth::Scopes;
///
/// let granted = Scopes::from("notes:read notes:write");
/// assert!(granted.contains_all(&Scopes::from("notes:read")));
/// assert_eq!(granted, Scopes::from(["notes:write", "notes:read"]));
/// assert_eq!(granted, ["notes:write notes:read"].into_iter().collect());
/// assert_eq!(granted.with(&Scopes::from("admin")).to_string(), "admin notes:read notes:write");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Scopes(BTreeSet<String>);

impl Scopes {
    /// No scopes.
    pub fn new() -> Scopes {
        Scopes::default()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this scope is among them.
    pub fn contains(&self, scope: &str) -> bool {
        self.0.contains(scope)
    }

    /// Whether all of those are among them.
    pub fn contains_all(&self, others: &Scopes) -> bool {
        others.0.is_subset(&self.0)
    }

    /// These and those.
    #[must_use]
    pub fn with(&self, others: &Scopes) -> Scopes {
        Scopes(self.0.union(&others.0).cloned().collect())
    }

    /// The scopes in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl From<&str> for Scopes {
    fn from(text: &str) -> Scopes {
        Scopes(text.split_ascii_whitespace().map(str::to_owned).collect())
    }
}

impl From<String> for Scopes {
    fn from(text: String) -> Scopes {
        Scopes::from(&*text)
    }
}

impl<const N: usize> From<[&str; N]> for Scopes {
    fn from(scopes: [&str; N]) -> Scopes {
        Scopes::from(scopes.join(" "))
    }
}

impl From<Scopes> for String {
    fn from(scopes: Scopes) -> String {
        scopes.to_string()
    }
}

/// A text with spaces is several scopes here, too, because a scope has none.
impl<S: Into<String>> FromIterator<S> for Scopes {
    fn from_iter<I: IntoIterator<Item = S>>(scopes: I) -> Scopes {
        let mut all = Scopes::new();
        for scopes in scopes {
            all.0.append(&mut Scopes::from(scopes.into()).0);
        }
        all
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, scope) in self.0.iter().enumerate() {
            if place > 0 {
                formatter.write_str(" ")?;
            }
            formatter.write_str(scope)?;
        }
        Ok(())
    }
}
