//! What a message of a copy does to it: whether its keys are free, and whether it is over.

use mcp_protocol_machine::protocol::Direction;

use super::{Item, Standing, World, index};
use crate::event::Event;
use crate::reading::Place;

impl World<'_> {
    /// Whether a message may leave its sender where it is.
    pub(super) fn stays(&self, number: usize, item: &Item) -> bool {
        let mut programs =
            self.copies[number].configs.iter().map(|config| &config.programs[index(item.direction)]);
        programs.any(|program| {
            let step = self.reading.step(program, item.direction, item.message, item.id.as_ref(), false);
            step.as_ref() == Some(program)
        })
    }

    /// Whether the keys of a message are all there and free.
    pub(super) fn free(&self, event: &Event, body: Place, own: Option<usize>) -> Result<(), &'static str> {
        let declared = &self.protocol.message(event.message).unwrap().keys;
        if declared.iter().any(|key| event.keys.iter().all(|(carried, _)| *carried != key.key)) {
            return Err("KeyMissing");
        }
        for key in &event.keys {
            let held = self.copies.iter().enumerate().any(|(number, copy)| {
                self.reading.shares_keys(copy.body, body)
                    && copy.over.is_none()
                    && Some(number) != own
                    && copy.keys.contains(key)
            });
            if held {
                return Err("KeyInUse");
            }
            let other = own.is_some_and(|own| {
                self.copies[own].keys.iter().any(|(known, value)| *known == key.0 && *value != key.1)
            });
            if other {
                return Err("WrongKey");
            }
        }
        Ok(())
    }

    /// After a message of a copy: is it over?
    pub(super) fn settle(&mut self, number: usize, by: Direction) {
        let copy = &mut self.copies[number];
        copy.known |= by != copy.by;
        let over = copy.configs.iter().all(|config| self.reading.is_over(&config.programs[index(by)]));
        if over {
            self.end(number, by);
        }
    }

    pub(super) fn end(&mut self, number: usize, by: Direction) {
        self.copies[number].over = Some(super::Over { by, at: self.seen });
        for exchange in self.exchanges.values_mut().filter(|exchange| exchange.copy == Some(number)) {
            if exchange.standing == Standing::Running {
                exchange.standing = Standing::Owed;
            }
        }
    }
}
