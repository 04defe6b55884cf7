//! Pairs of programs: what can have been sent, what can have arrived.

use std::collections::HashSet;

use mcp_protocol_machine::protocol::Direction;

use super::{CONFIGS, Config, Item, World, index};
use crate::reading::{Program, Thread};

impl World<'_> {
    /// Every pair of programs after one of them has sent something.
    pub(super) fn sent(&self, configs: &HashSet<Config>, item: &Item) -> HashSet<Config> {
        let sender = index(item.direction);
        let mut after = HashSet::new();
        for config in configs {
            let program = &config.programs[sender];
            let next = if item.cancels {
                self.reading.cancel(program, item.direction, item.id.as_ref().unwrap())
            } else {
                self.reading.step(program, item.direction, item.message, item.id.as_ref(), item.opens)
            };
            let Some(next) = next else { continue };
            if !item.cancels {
                let rule = self.reading.rule(program, item.direction, item.message, item.id.as_ref());
                self.advice.borrow_mut().insert(rule);
            }
            let mut config = config.clone();
            config.programs[sender] = next;
            config.inbox[1 - sender].push_back(item.clone());
            after.insert(config);
        }
        self.arrivals(after)
    }

    /// Whether a message that can have been sent crosses another one: a sender that had received everything seen so far
    /// could not have sent it.
    pub(super) fn crosses(&self, configs: &HashSet<Config>, item: &Item) -> bool {
        let sender = index(item.direction);
        configs.iter().all(|config| {
            let known = self.caught_up(config, sender);
            self.reading.step(&known, item.direction, item.message, item.id.as_ref(), item.opens).is_none()
        })
    }

    /// A program after all that is on its way to it.
    pub(super) fn caught_up(&self, config: &Config, program: usize) -> Program {
        config.inbox[program].iter().fold(config.programs[program].clone(), |known, item| {
            let next = if item.cancels {
                self.reading.cancel(&known, item.direction, item.id.as_ref().unwrap())
            } else {
                self.reading.step(&known, item.direction, item.message, item.id.as_ref(), item.opens)
            };
            next.unwrap_or(known)
        })
    }

    /// Adds what can be after any of the messages on their way have arrived.
    pub(super) fn arrivals(&self, configs: HashSet<Config>) -> HashSet<Config> {
        let mut all = HashSet::new();
        let mut waiting: Vec<Config> = configs.into_iter().collect();
        let mut seen: HashSet<Config> = waiting.iter().cloned().collect();
        while let Some(config) = waiting.pop() {
            let mut must = false;
            for program in [0, 1] {
                for place in 0..config.inbox[program].len() {
                    let Some((next, at_once)) = self.arrive(&config, program, place) else { continue };
                    // Who has nothing to say before it has read this may as well read it now.
                    must |= at_once;
                    if seen.len() < CONFIGS && seen.insert(next.clone()) {
                        waiting.push(next);
                    }
                }
            }
            if !must {
                all.insert(config);
            }
        }
        all
    }

    fn arrive(&self, config: &Config, program: usize, place: usize) -> Option<(Config, bool)> {
        let item = &config.inbox[program][place];
        let owner = |thread: &&Thread| self.reading.concerns(thread, item.of);
        let thread = config.programs[program].threads.iter().find(owner);
        // Within a channel nothing overtakes; who does not know any more what it is about drops it at once.
        let before = config.inbox[program].iter().take(place);
        if let Some(thread) = thread
            && before.clone().any(|other| self.reading.concerns(thread, other.of))
        {
            return None;
        }
        let known = &config.programs[program];
        let next = if item.cancels {
            self.reading.cancel(known, item.direction, item.id.as_ref().unwrap())
        } else {
            self.reading.step(known, item.direction, item.message, item.id.as_ref(), item.opens)
        };
        let own = if program == 0 { Direction::Send } else { Direction::Receive };
        let silent = thread.is_none_or(|thread| {
            // A cancellable request adds its cancellation to what can be sent.
            thread.asked.iter().all(|asked| asked.direction != own)
                && self.reading.moves(thread).iter().all(|step| step.direction != own)
                && self.reading.openers_at(thread).iter().all(|(_, step)| step.direction != own)
        });
        // So may be a step that is uncorrelated, which the suspension of the other side takes away.
        let silent =
            silent && next.as_ref().is_none_or(|next| !self.reading.loses_uncorrelated(known, next, own));
        // What opens or moves a sub-session within it is taken away by its end.
        let silent = silent && next.as_ref().is_none_or(|next| !self.reading.ends_inner(known, next));
        let at_once = silent || next.as_ref().is_none_or(|next| next == known);
        let mut after = config.clone();
        after.inbox[program].remove(place);
        let ends = |next: &Program| self.reading.ended(next) > self.reading.ended(known);
        if at_once && next.as_ref().is_some_and(ends) {
            after.ended_by[program] = Some(item.at);
        }
        if let Some(next) = next {
            after.programs[program] = next;
        }
        Some((after, at_once))
    }
}
