//! Two orders of messages that differ in nothing but where a refusal leads that the text does not write.

use mcp_protocol_machine::protocol::{Kind, Origin, Side};

use super::machine::{Event, Locations, Machine};
use super::product::Walk;
use super::race::Race;
use super::remedy::author;
use super::words;
use crate::declarations::Message;

/// A refusal that leads to one place after one order, and to another one after the other.
pub(super) struct Undone {
    refusal: Event,
    places: [String; 2],
}

impl Undone {
    /// What tells the orders apart.
    pub(super) fn consequence(&self, messages: &[Message]) -> String {
        let [one, other] = &self.places;
        format!(
            "both orders go on with the same steps, but a refusal of `{}` leads back to where it was sent, {one} or \
             {other}",
            self.request(messages)
        )
    }

    /// What to write.
    pub(super) fn remedy(&self, messages: &[Message], side: Side) -> String {
        let refusal = words::action(messages, self.refusal, side);
        format!(
            "write the refusal as a branch next to the reply, `{refusal} . …`, so that it leads to one place"
        )
    }

    fn request<'m>(&self, messages: &'m [Message]) -> &'m str {
        let kind = words::kind(messages, self.refusal.message);
        let Some(Kind::Refusal { request }) = kind else { return "the request" };
        words::name(messages, request)
    }
}

impl Race {
    /// The refusal that alone tells the two orders apart, as the author of the text has them.
    pub(super) fn undone(&self, walk: &Walk<'_, '_>) -> Option<Undone> {
        let (one, other) = self.events();
        let (machine, first, second) = match author(walk) {
            Side::Client => (walk.client, &self.after_client.0, &self.after_server.0),
            Side::Server => (walk.server, &self.after_client.1, &self.after_server.1),
        };
        let ends = [after(machine, first, other)?, after(machine, second, one)?];
        let [written, others] = ends.each_ref().map(|end| {
            let events = words::written(machine, end).into_iter().map(|step| step.arrow.event);
            events.collect::<Vec<Event>>()
        });
        if written != others {
            return None;
        }
        let [end, another] = &ends;
        let refusals = machine.moves(end).into_iter().filter(|step| step.arrow.origin == Origin::Refusal);
        refusals.into_iter().find_map(|step| {
            let same = machine.find(another, step.arrow.event)?;
            let places = [machine.step(end, &step), machine.step(another, &same)];
            let [one, other] = &places;
            let apart = same.arrow.origin == Origin::Refusal && one != other;
            let places = places.each_ref().map(|place| words::place(machine, place));
            apart.then_some(Undone { refusal: step.arrow.event, places })
        })
    }
}

/// Where a message leads.
fn after(machine: &Machine<'_>, from: &Locations, event: Event) -> Option<Locations> {
    Some(machine.step(from, &machine.find(from, event)?))
}
