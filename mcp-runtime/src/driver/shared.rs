//! Endpoints behind a shared pointer, for transports that several tasks use.
//!
//! In and out: what goes into and comes from the endpoint. Refuses to add anything.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::delivery::Delivery;
use super::endpoint::{DirectOutput, Endpoint, Output};
use super::outlet::{Outlet, Received};
use crate::error::{End, Error, Outcome, Reason};
use crate::report::Report;

impl<E: Endpoint + ?Sized> Endpoint for Arc<E> {
    fn offer_direct_output(&self, output: Box<dyn DirectOutput>) {
        (**self).offer_direct_output(output);
    }

    fn offer_outlet(&self, outlet: Box<dyn Outlet>) {
        (**self).offer_outlet(outlet);
    }

    fn request_failed(&self, id: i64, error: Error) {
        (**self).request_failed(id, error);
    }

    fn awaits(&self, id: i64) -> bool {
        (**self).awaits(id)
    }

    fn is_resumed(&self) -> bool {
        (**self).is_resumed()
    }

    fn failed(&self, reason: Reason) {
        (**self).failed(reason);
    }

    fn report(&self, report: Report) {
        (**self).report(report);
    }

    fn agreed_version(&self) -> Option<String> {
        (**self).agreed_version()
    }

    fn announced_version(&self, reply: &[u8]) -> Option<String> {
        (**self).announced_version(reply)
    }

    fn reconnected(&self, request: &[u8], result: &[u8]) {
        (**self).reconnected(request, result);
    }

    fn answer_aside(&self, message: &[u8]) -> Option<Vec<u8>> {
        (**self).answer_aside(message)
    }

    fn receive(&self, delivery: Delivery<'_>, now: Instant) -> Received {
        (**self).receive(delivery, now)
    }

    fn input_ended(&self, why: End) {
        (**self).input_ended(why);
    }

    fn poll_output(&self, context: &mut Context<'_>, into: &mut Vec<u8>, room: usize) -> Poll<Output> {
        (**self).poll_output(context, into, room)
    }

    fn wrote(&self) {
        (**self).wrote();
    }

    fn output_failed(&self, error: io::Error) {
        (**self).output_failed(error);
    }

    fn next_deadline(&self) -> Option<Instant> {
        (**self).next_deadline()
    }

    fn tick(&self, now: Instant) {
        (**self).tick(now);
    }

    fn terminated(&self, outcome: Outcome) {
        (**self).terminated(outcome);
    }
}
