//! Linear channels of random protocols: a few states over a few messages of their own.

use super::{Definition, Draft, Pool, operator, sign};

impl Draft<'_> {
    /// A linear channel that goes round and round, by states in which sub-sessions rest and others; gives its first
    /// state.
    pub(super) fn ring(&mut self) -> String {
        let states: Vec<String> = (0..2 + self.random.below(3)).map(|_| self.fresh("L")).collect();
        for (place, name) in states.iter().enumerate() {
            let next = &states[(place + 1) % states.len()];
            let send = self.random.percent(50);
            let (out, back) = (sign(send), sign(!send));
            let mut branches = Vec::new();
            if self.random.percent(40) {
                branches.push((Some(send), format!("{out}{} . {name}", self.note(None))));
            }
            branches.push(match self.random.below(4) {
                0 => {
                    let (request, _) = self.request(None, "");
                    (Some(send), format!("{out}{request} . {back}reply . {next}"))
                }
                1 => {
                    let (one, other) = (self.note(None), self.note(None));
                    let way = sign(self.random.percent(50));
                    (Some(send), format!("{out}{one} . {way}{other} . {next}"))
                }
                _ => (Some(send), format!("{out}{} . {next}", self.note(None))),
            });
            let only = match self.random.percent(60) {
                true => [" only", " only", " only out", " only in"][self.keys_random.below(4)],
                false => "",
            };
            self.definitions.push(Definition { name: name.clone(), only, branches });
        }
        states[0].clone()
    }

    /// A channel of a step or none.
    pub(super) fn short(&mut self, key: Option<String>) -> String {
        let way = sign(self.random.percent(50));
        match self.random.below(4) {
            0 => "End".to_owned(),
            1 => {
                let (request, _) = self.request(key.as_deref(), "");
                format!("{way}{request} . {}reply . End", if way == '!' { '?' } else { '!' })
            }
            _ => format!("{way}{} . End", self.note(key.as_deref())),
        }
    }

    /// A channel in which one side repeats a message until the other side stops that; gives its first state.
    pub(super) fn stopped(&mut self, key: Option<String>) -> String {
        let send = self.random.percent(50);
        let (out, back) = (sign(send), sign(!send));
        let (first, repeats) = (self.fresh("L"), self.fresh("L"));
        let (begin, stop) = (self.note(key.as_deref()), self.note(key.as_deref()));
        let again = if self.random.percent(50) { begin.clone() } else { self.note(key.as_deref()) };
        let rest = match self.random.below(4) {
            0 => format!("{back}{} . End", self.note(key.as_deref())),
            1 => format!("{back}{} . {out}{begin} . End", self.note(key.as_deref())),
            _ => "End".to_owned(),
        };
        let mut branches = vec![
            (Some(send), format!("{out}{again} . {repeats}")),
            (Some(!send), format!("{back}{stop} . {rest}")),
        ];
        if self.random.percent(30) {
            branches.push((Some(send), format!("{out}{} . {repeats}", self.note(key.as_deref()))));
        }
        self.definitions.push(Definition { name: repeats.clone(), only: "", branches });
        let branches = vec![(Some(send), format!("{out}{begin} . {repeats}"))];
        self.definitions.push(Definition { name: first.clone(), only: "", branches });
        first
    }

    /// A linear channel; gives its first state.
    pub(super) fn channel(&mut self, depth: usize, key: Option<String>) -> String {
        let choices = key.is_none() && self.random.percent(10);
        self.channel_with(depth, key, choices)
    }

    /// A linear channel that may have the bodies of a `*` in its choices.
    pub(super) fn channel_with(&mut self, depth: usize, key: Option<String>, choices: bool) -> String {
        let notes = (0..1 + self.below(3)).map(|_| self.note(key.as_deref())).collect();
        let requests = (0..1 + self.below(2)).map(|_| self.request(key.as_deref(), "")).collect();
        let more = usize::from(choices);
        let states = (0..1 + more + self.below(3)).map(|_| self.fresh("L")).collect();
        let bodies = if choices && self.random.percent(50) { Some(self.bodies()) } else { None };
        let inner = key.as_deref().map_or_else(Vec::new, |key| self.inner_stars(key));
        let mut pool = Pool { notes, requests, key, states, depth, bodies, inner };
        for state in pool.states.clone() {
            self.state(&mut pool, state);
        }
        pool.states[0].clone()
    }

    /// A body whose first request has its reply after other steps, in each of which it may be refused.
    pub(super) fn answered_late(&mut self, send: bool, cancellable: &str, key: &str) -> String {
        let (out, back) = (sign(send), sign(!send));
        let (request, _) = self.request(Some(key), cancellable);
        let names: Vec<String> = (0..1 + self.random.below(3)).map(|_| self.fresh("L")).collect();
        for (place, name) in names.iter().enumerate() {
            let rest = match self.random.percent(50) {
                true => "End".to_owned(),
                false => self.channel(0, Some(key.to_owned())),
            };
            let mut branches = Vec::new();
            let next = names.get(place + 1);
            if let Some(next) = next {
                let way = self.random.percent(50);
                let step = format!("{}{}", sign(way), self.note(Some(key)));
                branches.push((Some(way), format!("{step} . {}", self.next_to_an_end(vec![next.clone()]))));
            }
            if next.is_none() || self.random.percent(30) {
                branches.push((Some(!send), format!("{back}reply . {rest}")));
            }
            if self.random.percent(40) {
                let way = self.random.percent(50);
                branches.push((Some(way), format!("{}{} . {name}", sign(way), self.note(Some(key)))));
            }
            self.definitions.push(Definition { name: name.clone(), only: "", branches });
        }
        format!("{out}{request} . {}", self.next_to_an_end(vec![names[0].clone()]))
    }

    fn state(&mut self, pool: &mut Pool, name: String) {
        let mut branches: Vec<(Option<bool>, String)> = Vec::new();
        let send = self.random.percent(50);
        match self.random.below(10) {
            // One side's choice.
            0..=4 => {
                let mut used = Vec::new();
                for _ in 0..1 + self.random.below(3) {
                    branches.extend(self.branch(pool, &name, send, &mut used));
                }
            }
            // Loops of one side in parallel with steps of the other.
            5..=7 => {
                let mut looped: Vec<String> = Vec::new();
                for _ in 0..1 + self.random.below(2) {
                    // Often one that the channel has in other places, too.
                    let note = match self.random.percent(50) {
                        true => self.random.one(&pool.notes).unwrap().clone(),
                        false => self.note(pool.key.as_deref()),
                    };
                    if looped.contains(&note) {
                        continue;
                    }
                    looped.push(note.clone());
                    branches.push((Some(!send), format!("{}{note} . {name}", sign(!send))));
                }
                let mut used = Vec::new();
                for _ in 0..1 + self.random.below(2) {
                    branches.extend(self.branch(pool, &name, send, &mut used));
                }
            }
            // Both orders of two messages that may cross.
            8 => {
                let (one, two) = (self.note(pool.key.as_deref()), self.note(pool.key.as_deref()));
                let tail = self.target(pool);
                let (first, second) = (self.fresh("L"), self.fresh("L"));
                branches.push((Some(true), format!("!{one} . {first}")));
                branches.push((Some(false), format!("?{two} . {second}")));
                for (name, text, send) in
                    [(first, format!("?{two} . {tail}"), false), (second, format!("!{one} . {tail}"), true)]
                {
                    self.definitions.push(Definition { name, only: "", branches: vec![(Some(send), text)] });
                }
            }
            // Sub-sessions as long as a choice stands.
            _ if pool.key.is_none() && pool.bodies.is_none() => {
                branches.push((None, self.star()));
                let mut used = Vec::new();
                branches.extend(self.branch(pool, &name, send, &mut used));
            }
            _ => branches.extend(self.branch(pool, &name, send, &mut Vec::new())),
        }
        let endless = pool.bodies.as_ref().is_some_and(|bodies| bodies.endless);
        if pool.key.is_none() && !endless && self.random.percent(15) {
            branches.push((None, "End".to_owned()));
        }
        if let Some(bodies) = &pool.bodies
            && self.random.percent(90)
        {
            let other = self.random.percent(40);
            let name = if other { self.random.one(&bodies.names) } else { bodies.names.first() };
            branches.push((None, format!("*{}", name.unwrap())));
        }
        for star in &pool.inner {
            if self.random.percent(60) {
                branches.push((None, star.clone()));
            }
        }
        self.definitions.push(Definition { name, only: "", branches });
    }

    /// Where a branch goes on.
    fn target(&mut self, pool: &Pool) -> String {
        let endless = pool.bodies.as_ref().is_some_and(|bodies| bodies.endless);
        match self.random.below(100) {
            0..20 if !endless => "End".to_owned(),
            20..35 if pool.depth > 0 && !endless => match pool.key.as_deref() {
                Some(key) => self.fork_within(key),
                None => self.fork(pool.depth),
            },
            _ => self.random.one(&pool.states).unwrap().clone(),
        }
    }

    fn branch(
        &mut self,
        pool: &Pool,
        here: &str,
        send: bool,
        used: &mut Vec<String>,
    ) -> Option<(Option<bool>, String)> {
        let (out, back) = (sign(send), sign(!send));
        if self.random.percent(50) {
            let note = self.random.one(&pool.notes).unwrap().clone();
            if used.contains(&note) {
                return None;
            }
            used.push(note.clone());
            let level = self.level();
            return Some((Some(send), format!("{out}{note}{level} . {}", self.target(pool))));
        }
        if pool.key.is_some() && self.random.percent(12) {
            // One that is the last step whatever its answer: alone it waits where a sub-session waits that has left
            // loops.
            let (request, _) = self.request(pool.key.as_deref(), "");
            let between = operator(!send);
            let answers = format!("( {back}reply . End {between} {back}{request}Error . End )");
            return Some((Some(send), format!("{out}{request} . {answers}")));
        }
        if self.random.percent(25) {
            // One that may be cancelled, which needs a loop.
            let (request, _) = self.request(pool.key.as_deref(), " cancellable");
            return Some((Some(send), format!("{out}{request} . {back}reply . {here}")));
        }
        let (request, replies) = self.random.one(&pool.requests).unwrap().clone();
        let level = self.level();
        if used.contains(&request) {
            return None;
        }
        used.push(request.clone());
        let mut answers: Vec<String> = Vec::new();
        for reply in &replies {
            answers.push(format!("{back}{reply} . {}", self.target(pool)));
        }
        let between = operator(!send);
        let mut text = answers.join(&format!(" {between} "));
        if self.random.percent(30) {
            let (note, way) = (self.note(pool.key.as_deref()), sign(self.random.percent(50)));
            let variable = self.fresh("w");
            // What stands behind a loop would be in it.
            text = format!("( rec {variable} . ( {way}{note} . {variable} {between} {text} ) )");
        } else if answers.len() > 1 {
            text = format!("( {text} )");
        }
        Some((Some(send), format!("{out}{request}{level} . {text}")))
    }
}
