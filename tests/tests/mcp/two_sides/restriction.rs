//! The lattice of capabilities, met by sessions: whatever was announced and however often a handle was restricted, what
//! it may do is what the state permits, what was announced, and what every restriction left.

use mcp_protocol_machine::protocol::{Direction, GateIndex, Kind, MessageIndex, Protocol};
use mcp_protocols::mcp_2025_03_26::{Active, McpClient, PROTOCOL, messages};
use mcp_protocols::types::ResourceParams;
use mcp_runtime::{Capabilities, Error, ViolationKind};
use serde_json::{Value, json};

use super::handlers::Tools;
use super::{active_with, guarded};

/// Random numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn set(&mut self) -> Capabilities {
        match self.below(12) {
            0 => Capabilities::none(),
            1 => Capabilities::unknown(),
            // Most gates, so that several sets still have something in common.
            _ => gates(&PROTOCOL).filter(|_| self.below(4) > 0).collect(),
        }
    }
}

fn gates(protocol: &Protocol) -> impl Iterator<Item = GateIndex> {
    (0..u16::try_from(protocol.gates.len()).unwrap()).map(GateIndex)
}

/// The gates that a message needs, as far as no condition decides.
fn needs(message: MessageIndex) -> Vec<GateIndex> {
    let requires = &PROTOCOL.message(message).unwrap().requires;
    requires.iter().filter(|needed| needed.condition.is_none()).map(|needed| needed.gate).collect()
}

/// An announcement of some of the server's capabilities.
fn some(random: &mut Random) -> Value {
    let mut offers = json!({});
    for (name, parts) in [
        ("tools", &["listChanged"][..]),
        ("resources", &["subscribe", "listChanged"]),
        ("prompts", &["listChanged"]),
        ("completions", &[]),
        ("logging", &[]),
    ] {
        if random.below(4) > 0 {
            let parts = parts.iter().filter(|_| random.below(2) > 0).map(|part| (*part, true));
            offers[name] = parts.collect::<std::collections::BTreeMap<_, _>>().into_iter().collect();
        }
    }
    offers
}

#[tokio::test]
async fn no_chain_of_restrictions_ever_widens() {
    let mut random = Random(42);
    for _ in 0..40 {
        let offers = some(&mut random);
        guarded(async {
            let (client, server, watch) = active_with(json!({ "roots": {} }), offers.clone()).await;
            let _serving = test_support::spawn(server.incoming().serve(Tools));
            let mut handle = client.handle();
            let mut left = Capabilities::unknown();
            let full = handle.permitted();
            for _ in 0..4 {
                let set = random.set();
                let weaker = handle.restrict(&set);
                left = left.meet(&set);
                let (before, after) = (handle.permitted(), weaker.permitted());
                assert!(after.iter().all(|message| before.contains(message)), "{set:?}");
                // Exactly what the full handle may send and every set allows.
                let meet: Vec<MessageIndex> = full
                    .iter()
                    .copied()
                    .filter(|message| needs(*message).into_iter().all(|gate| left.grants(gate)))
                    .collect();
                assert_eq!(after, meet, "{offers} {left:?}");
                // The same set again, and none and all, change what the lattice says they do.
                assert_eq!(weaker.restrict(&set).permitted(), after);
                assert_eq!(weaker.restrict(&Capabilities::unknown()).permitted(), after);
                handle = weaker;
            }
            // And what is refused is not written.
            let lines = watch.brief().len();
            for message in [messages::TOOLS_LIST, messages::PROMPTS_LIST, messages::RESOURCES_LIST] {
                if handle.permits(message).is_ok() {
                    continue;
                }
                let refused = match message {
                    messages::TOOLS_LIST => handle.list_tools(None).await.map(drop),
                    messages::PROMPTS_LIST => handle.list_prompts(None).await.map(drop),
                    _ => handle.list_resources(None).await.map(drop),
                };
                let Err(Error::NotPermitted(violation)) = refused else { panic!("{refused:?}") };
                assert!(violation.missing_capability().is_some(), "{violation}");
                let negotiated = full.contains(&message);
                assert_eq!(matches!(violation.kind, ViolationKind::Restricted { .. }), negotiated);
            }
            assert_eq!(watch.brief().len(), lines);
            // The session itself is judged like the handle, without its type and with it again, and so is what is
            // made of it.
            let mut session = client.into_checked();
            session.restrict(&left);
            let replicated = |permitted: Vec<MessageIndex>| -> Vec<MessageIndex> {
                permitted.into_iter().filter(|message| full.contains(message)).collect()
            };
            assert_eq!(replicated(session.permitted()), handle.permitted(), "{offers} {left:?}");
            let client: McpClient<Active> = session.try_into_typed().unwrap();
            assert_eq!(replicated(client.permitted()), handle.permitted(), "{offers} {left:?}");
            assert_eq!(client.handle().permitted(), handle.permitted());
            let outcomes = [
                (messages::TOOLS_LIST, client.list_tools(None).await.map(drop)),
                (messages::TOOLS_LIST, client.list_tools_pages(None).all().await.map(drop)),
                (messages::PROMPTS_LIST, client.handle().list_prompts_pages(None).all().await.map(drop)),
                (messages::RESOURCES_SUBSCRIBE, client.subscribe(ResourceParams::new("a:b")).await.map(drop)),
            ];
            for (message, outcome) in outcomes {
                let refused = matches!(outcome, Err(Error::NotPermitted(_)));
                assert_eq!(refused, handle.permits(message).is_err(), "{offers} {left:?}: {outcome:?}");
            }
            assert_eq!(replicated(client.into_checked().permitted()), handle.permitted());
        })
        .await;
    }
}

/// An operation goes out iff it was negotiated and the state permits it: in every state, for every announcement.
#[test]
fn safe_is_negotiated_and_permitted_by_the_state() {
    use mcp_protocol_machine::{Checker, protocol::Side};
    let mut random = Random(7);
    for side in [Side::Client, Side::Server] {
        for (place, state) in PROTOCOL.role(side).unwrap().states.iter().enumerate() {
            let index = mcp_protocol_machine::protocol::StateIndex(u32::try_from(place).unwrap());
            let Ok(mut checker) = Checker::resume(&PROTOCOL, side, index) else { continue };
            for _ in 0..20 {
                let (client, server, within) = (random.set(), random.set(), random.set());
                checker.announce(Side::Client, client.clone());
                checker.announce(Side::Server, server.clone());
                for (message, table) in PROTOCOL.indexed() {
                    if !matches!(table.kind, Kind::Request) {
                        continue;
                    }
                    let by_state = {
                        let mut open = checker.clone();
                        open.announce(Side::Client, Capabilities::unknown());
                        open.announce(Side::Server, Capabilities::unknown());
                        open.permits(Direction::Send, message).is_ok()
                    };
                    let negotiated =
                        table.requires.iter().filter(|needed| needed.condition.is_none()).all(|needed| {
                            use mcp_protocol_machine::protocol::Holder;
                            let holder = match needed.holder {
                                Holder::Side(side) => side,
                                Holder::Sender => side,
                                Holder::Receiver => side.other(),
                            };
                            let announced = if holder == Side::Client { &client } else { &server };
                            announced.meet(&within).grants(needed.gate)
                        });
                    let permitted = checker.permits_if(Direction::Send, message, &within, |_| false);
                    assert_eq!(
                        permitted.is_ok(),
                        by_state && negotiated,
                        "{} in {}: {permitted:?}",
                        table.name,
                        state.name
                    );
                }
            }
        }
    }
}
