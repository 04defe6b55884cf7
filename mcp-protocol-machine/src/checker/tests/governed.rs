//! A session that another revision of its protocol comes to govern.

use std::borrow::Cow;

use super::tables::{EdgeTo, Tables, To, level, small};
use super::*;
use crate::ViolationKind;
use crate::protocol::{
    Announcement, During, Field, Gate, GateIndex, Holder, NamedShape, Protocol, Requirement, Shape,
    ShapeIndex, StateKind, Strictness,
};
use Direction::{Receive, Send};

/// An older revision of the small protocol: no sampling, calls need another capability, batches are permitted. Its
/// messages and states have other numbers.
fn older() -> Protocol {
    let mut tables = Tables::default();
    let log = tables.notification("log");
    let call = tables.request("tools/call");
    let initialize = tables.request("initialize");
    let initialized = tables.notification("initialized");
    tables.cancels("cancelled");
    tables.edit(call.request).cancellable = true;
    let calls = tables.gate(&["calls"]);
    tables.requires(call.request, Holder::Side(Side::Server), calls, None);
    let active: &[EdgeTo] = &[(Send, call.request, To::Spawn("Calling")), (Receive, log, To::Spawn("End"))];
    tables.state("Active", StateKind::Replicated, active).outward =
        level(Strictness::Should, Some("old"), None);
    tables.state("Uninit", StateKind::Linear, &[(Send, initialize.request, To::Step("Waiting"))]);
    tables.state("Waiting", StateKind::Linear, &[(Receive, initialize.reply, To::Step("Told"))]);
    tables.state("Told", StateKind::Linear, &[(Send, initialized, To::Step("Active"))]);
    tables.answer("Calling", Receive, call);
    tables.state("End", StateKind::End, &[]);
    let mut protocol = tables.build(Side::Client);
    protocol.version = Some("0".into());
    protocol.batch = true;
    protocol
}

#[test]
fn the_numbers_stay_and_what_the_revision_has_remains() {
    let (small, older) = (small(), older());
    let governed = small.protocol.governed_by(&older);
    assert_eq!(governed.messages.len(), small.protocol.messages.len());
    assert_eq!((governed.version.as_deref(), governed.batch), (Some("0"), true));
    let names = |protocol: &Protocol| -> Vec<String> {
        let states = &protocol.client.as_ref().unwrap().states;
        states.iter().map(|state| state.name.to_string()).collect()
    };
    assert_eq!(names(&governed), names(&small.protocol));
    // The capability that only the revision knows has a number behind the others.
    let known = Gate::new(Cow::Owned(vec!["calls".into()]));
    assert_eq!(governed.gates.last(), Some(&known));
    assert_eq!(governed.gates[..small.protocol.gates.len()], small.protocol.gates[..]);
    // The same governed by itself is the same.
    assert_eq!(small.protocol.governed_by(&small.protocol), small.protocol);
}

#[test]
fn payloads_have_the_shapes_of_the_revision() {
    let (mut own, mut older) = (small().protocol, older());
    let give = |protocol: &mut Protocol, message: &str, shape: u16| {
        let (index, _) = protocol.by_name(message).unwrap();
        protocol.messages.to_mut()[usize::from(index.0)].shape = Some(ShapeIndex(shape));
    };
    own.shapes = vec![NamedShape::named("New", Shape::Int), NamedShape::named("Call", Shape::Int)].into();
    older.shapes = vec![NamedShape::named("Call", Shape::Text)].into();
    give(&mut own, "tools/call", 1);
    give(&mut own, "log", 0);
    give(&mut own, "sampling/createMessage", 0);
    give(&mut older, "tools/call", 0);
    let governed = own.governed_by(&older);
    assert_eq!(governed.shapes, older.shapes);
    let shapes = governed.messages.iter().filter_map(|message| Some((&*message.name, message.shape?)));
    assert_eq!(shapes.collect::<Vec<_>>(), [("tools/call", ShapeIndex(0))]);
}

#[test]
fn what_is_announced_by_default_is_what_the_revision_says() {
    let announces = |protocol: &mut Protocol, defaults: Vec<GateIndex>| {
        let path = vec!["can".into()].into();
        let field = Field { message: protocol.by_name("initialize").unwrap().0, path };
        let announcement =
            Announcement { defaults: defaults.into(), ..Announcement::new(Side::Server, field) };
        protocol.announcements = vec![announcement].into();
    };
    let (small, mut older) = (small(), older());
    let mut own = small.protocol.clone();
    announces(&mut own, vec![small.tools, small.sampling_tools]);
    assert_eq!(own.governed_by(&own), own);
    // What the revision does not know is read as before, what it knows as it says: it has `tools`, and no default.
    older.gates.to_mut().push(own.gate(small.tools).unwrap().clone());
    announces(&mut older, vec![GateIndex(0)]);
    let governed = own.governed_by(&older);
    let calls = GateIndex(u16::try_from(governed.gates.len() - 1).unwrap());
    assert_eq!(governed.gate(calls).unwrap().to_string(), "calls");
    assert_eq!(governed.announcements[0].defaults, vec![small.sampling_tools, calls]);
    // A revision without announcements says nothing about capabilities.
    older.announcements = vec![].into();
    assert_eq!(own.governed_by(&older).announcements, own.announcements);
}

#[test]
fn what_is_permitted_during_requests_is_what_the_revision_says() {
    let (own, mut older) = (small().protocol, older());
    let place = |protocol: &Protocol, name: &str| protocol.by_name(name).unwrap().0;
    // The older revision permits `log` while a call runs.
    let during = During::new(vec![place(&older, "tools/call")].into(), None);
    older.gates.to_mut().push(Gate::granted_by(during));
    let gate = GateIndex(u16::try_from(older.gates.len() - 1).unwrap());
    let log = place(&older, "log");
    older.messages.to_mut()[usize::from(log.0)].requires = vec![Requirement::during(gate)].into();
    let governed = own.governed_by(&older);
    let log = governed.message(place(&governed, "log")).unwrap();
    let [required] = &*log.requires else { panic!("{:?}", log.requires) };
    let during = governed.gate(required.gate).unwrap().during.clone().unwrap();
    assert_eq!(*during.requests, [place(&governed, "tools/call")]);
    // A revision without that permits it at any time, and one governed by itself stays as it is.
    let back = governed.governed_by(&own);
    assert!(back.message(place(&back, "log")).unwrap().requires.is_empty());
    assert_eq!(older.governed_by(&older), older);
}

#[test]
fn a_session_goes_on_in_its_state_under_other_rules() {
    let (small, older) = (small(), older());
    let mut checker = Checker::new(small.protocol.clone(), Side::Client).unwrap();
    checker.ask(Send, small.initialize.request, 0).unwrap();
    checker.answer(Receive, 0, small.initialize.reply).unwrap();
    let governed = small.protocol.governed_by(&older);
    let calls = crate::protocol::GateIndex(u16::try_from(governed.gates.len() - 1).unwrap());
    checker.govern(governed);
    assert!(checker.is_governed());
    // The capability of the latest revision opens nothing any more.
    checker.announce(Side::Server, Capabilities::from_gates([small.tools]));
    checker.announce(Side::Client, Capabilities::from_gates([small.sampling]));
    checker.tell(Send, small.initialized).unwrap();
    assert_eq!(checker.state_names(), "Active");
    let closed = checker.ask(Send, small.call.request, 1).unwrap_err();
    assert!(matches!(&closed.kind, ViolationKind::NotNegotiated { capability, .. } if capability == "calls"));
    assert_eq!((closed.rule(), closed.strictness()), (Some("old"), Strictness::Should));
    checker.announce(Side::Server, Capabilities::from_gates([calls]));
    checker.ask(Send, small.call.request, 2).unwrap();
    checker.answer(Receive, 2, small.call.reply).unwrap();
    // What the revision does not have is unknown, whatever was announced for it.
    for direction in [Receive, Send] {
        let unknown = checker.ask(direction, small.sample.request, 3).unwrap_err();
        assert_eq!(unknown.kind, ViolationKind::UnknownMethod);
        assert_eq!(unknown.error_code(), -32_601);
    }
    let unknown = checker.ask(Receive, small.ping.request, 4).unwrap_err();
    assert_eq!(unknown.to_string(), "`ping` is not a method that the server sends in `Test` 0");
}
