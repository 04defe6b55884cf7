//! The replay buffer: messages kept for a client that reconnects, oldest dropped first.

use super::table::{BACKLOG, Streams};
use crate::budget::Permit;
use crate::driver::MessageKind;
use crate::jsonrpc::asked;
use crate::transport::http::server::stream::{Stream, StreamEvent};

impl Streams {
    /// Finds what is only kept; seldom, for this looks at all of it.
    pub(super) fn recount_kept(&mut self) {
        let mut places: Vec<u64> = Vec::new();
        places.extend(self.backlog.iter().map(|_| BACKLOG));
        let mut numbers: Vec<u64> = self.streams.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            let Some(stream) = self.streams.get(&number) else { continue };
            let kept = match stream.reader {
                Some(_) => stream.taken_count().min(stream.events.len()),
                None => stream.events.len(),
            };
            places.extend(std::iter::repeat_n(number, kept));
        }
        self.kept_at = places.into();
    }

    pub(super) fn keep_backlog(&mut self, mut event: StreamEvent) {
        if !self.make_kept(&mut event) {
            return self.lose(&event);
        }
        self.backlog.push_back(event);
        self.kept_at.push_back(BACKLOG);
    }

    /// Keeps a message at the end of a stream that is not read.
    pub(super) fn push_kept(&mut self, number: u64, mut event: StreamEvent) {
        let fits = self.make_kept(&mut event);
        let Some(stream) = self.streams.get_mut(&number) else { return };
        if fits {
            stream.events.push_back(event);
            return self.kept_at.push_back(number);
        }
        // All that was kept had to go for it, so nothing stands before it. Its number is used up all the same.
        stream.first = stream.first.saturating_add(1);
        self.remove_spent(number);
        self.lose(&event);
    }

    /// What was to be read at a place is only kept from here on.
    pub(super) fn keep_at(&mut self, number: u64, at: u64) {
        let Some(event) = self.streams.get_mut(&number).and_then(|stream| stream.event_mut(at)) else {
            return;
        };
        let cost = event.cost();
        if !event.kept {
            event.permit = Permit::default();
            let room = self.room_to_keep(cost);
            let Some(stream) = self.streams.get_mut(&number) else { return };
            match (room, stream.event_mut(at)) {
                (Some(permit), Some(event)) => {
                    event.permit = permit;
                    event.kept = true;
                }
                (None, Some(_)) => {
                    // What stood before it was kept, and had to go for it.
                    let taken = at < stream.taken;
                    let event = stream.events.pop_front();
                    stream.first = stream.first.saturating_add(1);
                    self.remove_spent(number);
                    if let Some(event) = event.filter(|_| !taken) {
                        self.lose(&event);
                    }
                    return;
                }
                (_, None) => return,
            }
        }
        self.kept_at.push_back(number);
    }

    /// Has a message hold what it takes to be kept.
    pub(super) fn make_kept(&mut self, event: &mut StreamEvent) -> bool {
        if !event.kept {
            event.permit = Permit::default();
            let Some(permit) = self.room_to_keep(event.cost()) else { return false };
            event.permit = permit;
            event.kept = true;
        }
        true
    }

    /// Makes room for what is only kept: the oldest goes first.
    pub(super) fn room_to_keep(&mut self, cost: usize) -> Option<Permit> {
        if self.one_request {
            return None;
        }
        loop {
            if let Ok(permit) = self.limits.kept.take(cost) {
                return Some(permit);
            }
            if !self.shed_oldest() {
                return None;
            }
        }
    }

    /// Lets go of the oldest of what is only kept, if there is any.
    pub(super) fn shed_oldest(&mut self) -> bool {
        let Some(number) = self.kept_at.pop_front() else { return false };
        if number == BACKLOG {
            if let Some(event) = self.backlog.pop_front() {
                self.lose(&event);
            }
            return true;
        }
        let Some(stream) = self.streams.get_mut(&number) else { return true };
        let taken = stream.first < stream.taken;
        let event = stream.events.pop_front();
        stream.first = stream.first.saturating_add(u64::from(event.is_some()));
        self.remove_spent(number);
        if let Some(event) = event.filter(|_| !taken) {
            self.lose(&event);
        }
        true
    }

    pub(super) fn remove_spent(&mut self, number: u64) {
        if self.streams.get(&number).is_some_and(Stream::is_spent) {
            self.streams.remove(&number);
        }
    }

    /// A message that was not taken is gone: what it has asked is not answered.
    pub(super) fn lose(&mut self, event: &StreamEvent) {
        match event.kind {
            MessageKind::Request { id, .. } => self.lost.push(id),
            MessageKind::Several { .. } => self.lost.extend(asked(&event.message)),
            _ => return,
        }
        if let Some(carrier) = self.carrier.take() {
            carrier.wake();
        }
    }
}
