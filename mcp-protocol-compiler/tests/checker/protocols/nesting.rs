//! A `*` in the body of another one.
//!
//! It is a branch of choices of the body, or stands next to the body's linear channel. Its messages carry the keys of the
//! bodies around it, and one of their own where it goes on.
//!
//! What is not written: a key that only a later step brings to an outer body or two
//! keys of one body, an open key of an inner body, one inner body in two outer ones, and a request other than the one
//! that opens a sub-session which is open where a `*` starts next to its channel.

use super::{Definition, Draft, sign};

/// How many `*` stand in one another at most.
const LEVELS: usize = 3;

impl Draft<'_> {
    /// Whether a `*` is to stand in the body that is being written.
    pub(super) fn nests(&mut self) -> bool {
        let chance = if self.around.is_empty() { 80 } else { 35 };
        self.nests && self.around.len() + 1 < LEVELS && self.random.percent(chance)
    }

    /// The rest of a body, after its first exchange.
    pub(super) fn body(&mut self, key: &str, nests: bool) -> String {
        let mut parts = match self.forks && self.random.percent(60) {
            true => self.channels(key),
            false => vec![self.channel(0, Some(key.to_owned()))],
        };
        if nests && !self.random.percent(50) {
            parts.push(self.inner_star(key));
        }
        side_by_side(parts)
    }

    /// Several linear channels of a body.
    fn channels(&mut self, key: &str) -> Vec<String> {
        (0..2 + self.below(2)).map(|_| self.body_channel(key)).collect()
    }

    /// One of several linear channels of a body.
    fn body_channel(&mut self, key: &str) -> String {
        let key = Some(key.to_owned());
        match self.random.below(5) {
            0 | 1 => self.short(key),
            2 => self.stopped(key),
            _ => {
                let depth = usize::from(self.random.percent(30));
                self.channel(depth, key)
            }
        }
    }

    /// Channels that start within a body.
    pub(super) fn fork_within(&mut self, key: &str) -> String {
        let parts = self.channels(key);
        side_by_side(parts)
    }

    /// A body that starts with several channels. What opens it goes on with it as well, so it is a notification.
    pub(super) fn started(&mut self, key: &str) -> String {
        let parts = (0..2 + self.below(2)).map(|_| {
            let way = sign(self.random.percent(50));
            let note = self.note(Some(key));
            format!("{way}{note} . {}", self.body_channel(key))
        });
        let mut parts: Vec<String> = parts.collect();
        if self.nests() && self.random.percent(50) {
            parts.push(self.inner_star(key));
        }
        side_by_side(parts)
    }

    /// A body in which sub-sessions are opened while the request that opened it has no reply yet.
    pub(super) fn waiting(&mut self, send: bool, cancellable: &str, key: &str) -> String {
        let (out, back) = (sign(send), sign(!send));
        let (request, _) = self.request(Some(key), cancellable);
        let name = self.fresh("L");
        let rest = match self.random.percent(60) {
            true => "End".to_owned(),
            false if self.forks && self.random.percent(60) => self.fork_within(key),
            false => self.channel(0, Some(key.to_owned())),
        };
        let mut branches = vec![(Some(!send), format!("{back}reply . {rest}"))];
        for _ in 0..self.random.below(3) {
            let way = self.random.percent(50);
            branches.push((Some(way), format!("{}{} . {name}", sign(way), self.note(Some(key)))));
        }
        let alongside = self.random.percent(40);
        let star = self.inner_star(key);
        if !alongside {
            branches.push((None, star.clone()));
        }
        self.definitions.push(Definition { name: name.clone(), only: "", branches });
        let mut parts = vec![name];
        parts.extend(alongside.then_some(star));
        format!("{out}{request} . {}", self.next_to_an_end(parts))
    }

    /// Parts of a body, at times next to a channel that is at its end from the beginning, which is as if it were not
    /// there: a request may be open where it starts.
    pub(super) fn next_to_an_end(&mut self, mut parts: Vec<String>) -> String {
        if self.ends_random.percent(10) {
            parts.insert(self.ends_random.below(parts.len() + 1), "End".to_owned());
        }
        side_by_side(parts)
    }

    /// Every `*` that is to be a branch of choices in a body.
    pub(super) fn inner_stars(&mut self, key: &str) -> Vec<String> {
        if !self.nests() {
            return Vec::new();
        }
        (0..1 + self.random.below(2)).map(|_| self.inner_star(key)).collect()
    }

    /// A `*` in the body that has a key.
    fn inner_star(&mut self, key: &str) -> String {
        self.around.push(key.to_owned());
        let star = self.star();
        self.around.pop();
        let Some(text) = star.strip_prefix("*( ").and_then(|text| text.strip_suffix(" )")) else {
            return star;
        };
        // One body, in however many choices it stands.
        let name = self.fresh("K");
        let branches = vec![(None, text.to_owned())];
        self.definitions.push(Definition { name: name.clone(), only: "", branches });
        format!("*{name}")
    }
}

fn side_by_side(parts: Vec<String>) -> String {
    match parts.as_slice() {
        [only] => only.clone(),
        _ => format!("( {} )", parts.join(", ")),
    }
}
