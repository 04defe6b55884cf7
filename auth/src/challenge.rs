//! [`BearerChallenge`]: how a server says in `WWW-Authenticate` which token it wants. The scheme `DPoP` has the same parameters.

use std::fmt;

use crate::scopes::Scopes;

/// What a server says about the token that a request needs (RFC 6750, RFC 9728).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BearerChallenge {
    /// Where the metadata of the protected resource is.
    pub(crate) resource_metadata: Option<String>,
    /// What the token has to permit.
    pub(crate) scope: Option<Scopes>,
    /// Why the request was refused: `invalid_token` or `insufficient_scope`, for instance.
    pub(crate) error: Option<String>,
    /// The same for people.
    pub(crate) error_description: Option<String>,
}

impl BearerChallenge {
    /// Reads the challenge for bearer tokens in a header, which may have challenges of other schemes, too.
    #[cfg(feature = "client")]
    pub(crate) fn parse(header: &str) -> Option<BearerChallenge> {
        BearerChallenge::of_scheme(header, "bearer")
    }

    /// The same for tokens of another scheme, such as `dpop`.
    #[cfg(feature = "client")]
    pub(crate) fn of_scheme(header: &str, scheme: &str) -> Option<BearerChallenge> {
        let mut cursor = Cursor(header);
        let mut challenge: Option<BearerChallenge> = None;
        let mut in_challenge = false;
        loop {
            cursor.skip(|character| character.is_ascii_whitespace() || character == ',');
            let name = cursor.token();
            if name.is_empty() {
                // Whatever stands here is part of no challenge, so the rest means nothing either.
                return challenge;
            }
            match cursor.value() {
                Some(value) => {
                    if let (true, Some(challenge)) = (in_challenge, &mut challenge) {
                        challenge.note(name, value);
                    }
                }
                None => {
                    in_challenge = challenge.is_none() && name.eq_ignore_ascii_case(scheme);
                    if in_challenge {
                        challenge = Some(BearerChallenge::default());
                    } else {
                        cursor.token68();
                    }
                }
            }
        }
    }

    #[cfg(feature = "client")]
    fn note(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => self.resource_metadata = Some(value),
            "scope" => self.scope = Some(Scopes::from(value)).filter(|scopes| !scopes.is_empty()),
            "error" => self.error = Some(value),
            "error_description" => self.error_description = Some(value),
            _ => {}
        }
    }
}

/// The rest of a header.
#[cfg(feature = "client")]
struct Cursor<'a>(&'a str);

#[cfg(feature = "client")]
impl<'a> Cursor<'a> {
    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        self.0 = self.0.trim_start_matches(skipped);
    }

    fn take(&mut self, taken: impl Fn(char) -> bool) -> &'a str {
        let rest = self.0.trim_start_matches(&taken);
        let (token, _) = self.0.split_at(self.0.len() - rest.len());
        self.0 = rest;
        token
    }

    fn token(&mut self) -> &'a str {
        self.take(|character| character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(character))
    }

    /// Other schemes may have one text in place of parameters.
    fn token68(&mut self) {
        let before = self.0;
        self.skip(|character| character == ' ');
        let token = self.take(|character| character.is_ascii_alphanumeric() || "-._~+/=".contains(character));
        let ends = self.0.trim_start().is_empty() || self.0.trim_start().starts_with(',');
        if token.is_empty() || !ends {
            self.0 = before;
        }
    }

    /// What follows an equals sign, if there is one.
    fn value(&mut self) -> Option<String> {
        let rest = self.0.trim_start().strip_prefix('=')?.trim_start();
        let Some(quoted) = rest.strip_prefix('"') else {
            self.0 = rest;
            return Some(self.token().to_owned());
        };
        let mut value = String::new();
        let mut characters = quoted.chars();
        while let Some(character) = characters.next() {
            match character {
                '"' => break,
                '\\' => value.extend(characters.next()),
                other => value.push(other),
            }
        }
        self.0 = characters.as_str();
        Some(value)
    }
}

/// As the value of the header.
impl fmt::Display for BearerChallenge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = self.scope.as_ref().map(Scopes::to_string);
        let parameters = [
            ("error", self.error.as_deref()),
            ("error_description", self.error_description.as_deref()),
            ("scope", scope.as_deref()),
            ("resource_metadata", self.resource_metadata.as_deref()),
        ];
        formatter.write_str("Bearer")?;
        let given = parameters.iter().filter_map(|(name, value)| Some((name, (*value)?)));
        for (place, (name, value)) in given.enumerate() {
            write!(formatter, "{} {name}=\"", if place == 0 { "" } else { "," })?;
            // No other characters may stand there.
            for character in value.chars().filter(|character| matches!(character, ' '..='~')) {
                if matches!(character, '"' | '\\') {
                    formatter.write_str("\\")?;
                }
                write!(formatter, "{character}")?;
            }
            formatter.write_str("\"")?;
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "client"))]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read_as_it_was_written() {
        let challenge = BearerChallenge {
            resource_metadata: Some("https://example.org/.well-known/oauth-protected-resource/mcp".into()),
            scope: Some(Scopes::from("b a")),
            error: Some("insufficient_scope".into()),
            error_description: Some(r#"say "please", or \ "#.into()),
        };
        assert_eq!(BearerChallenge::parse(&challenge.to_string()), Some(challenge));
        assert_eq!(BearerChallenge::default().to_string(), "Bearer");
    }

    #[test]
    fn the_bearer_challenge_is_found_among_others() {
        let scope = |header| BearerChallenge::parse(header).map(|challenge| challenge.scope);
        let found = Some(Some(Scopes::from("a")));
        assert_eq!(scope(r#"Basic realm="x", Bearer scope="a""#), found);
        assert_eq!(scope(r#"Negotiate YWJj==, bearer SCOPE = a , Digest scope="b""#), found);
        assert_eq!(scope("Bearer"), Some(None));
        assert_eq!(scope(r#"Bearer error="invalid_token", Bearer scope="b""#), Some(None));
        assert_eq!(scope(r#"Digest nonce="Bearer scope=a""#), None);
        assert_eq!(scope(""), None);
        let both = r#"DPoP scope="b", algs="ES256", Bearer scope="a""#;
        assert_eq!(scope(both), found);
        let bound = BearerChallenge::of_scheme(both, "dpop");
        assert_eq!(bound.and_then(|challenge| challenge.scope), Some(Scopes::from("b")));
        // Nothing in a header makes the reader hang, or panic.
        for header in ["Bearer scope=\"a", "Bearer scope=", "Bearer \u{e9}=1", "=,=,\"", "Bearer a=\"\\"] {
            let _ = BearerChallenge::parse(header);
        }
    }
}
