//! The code of both sides for one way through a protocol.

use std::fmt::Write;

use super::api::Api;
use super::linear::{Linear, Side};
use super::opened::{Numbers, Opened};
use super::pair::{CLOSE, Pair, WAIT};
use super::program::Program;
use super::protocol::Protocol;
use crate::random::Random;

/// How many messages a way has at most in each channel, without those of replicated channels.
const STEPS: usize = 12;

/// The parts of a role: it is whole, or is split in its first state.
fn parts<'a>(protocol: &Protocol, api: &'a Api, module: &'a str, side: Side) -> Vec<Program<'a>> {
    let role = match side {
        Side::Client => "Guest",
        Side::Server => "Waiter",
    };
    let part = |state: String| Program {
        api,
        module,
        side,
        role: role.to_owned(),
        state: Some(state),
        variable: "session".to_owned(),
        keys: Vec::new(),
        always: protocol.always(side),
        hears: false,
        code: String::new(),
    };
    let whole = part(api.start(role));
    let Some((_, split)) = whole.find("split").filter(|_| protocol.channels.len() > 1) else {
        return vec![whole];
    };
    whole.has(["split".to_owned()]);
    split.states().into_iter().map(part).collect()
}

/// How a way comes to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// A side has closed the session where it may.
    Closed,
    /// Every channel is at its end, and every sub-session is over.
    Over,
    /// Something could go on.
    Stopped,
}

/// Writes a function `name` in which both sides go one way through a protocol.
pub(crate) fn function(
    protocol: &Protocol,
    api: &Api,
    module: &str,
    name: &str,
    random: &mut Random,
) -> String {
    let mut clients = parts(protocol, api, module, Side::Client);
    let mut servers = parts(protocol, api, module, Side::Server);
    let many = protocol.channels.len().max(1);
    assert_eq!((clients.len(), servers.len()), (many, many));
    let mut opened = Opened::new(&protocol.stars, None, random);
    let mut numbers = Numbers::default();
    let mut ending = Ending::Over;
    for (number, (client, server)) in clients.iter_mut().zip(&mut servers).enumerate() {
        // What any part may send, the first one sends.
        let opened = (number == 0).then_some((&mut opened, &mut numbers));
        let ended = through(protocol.channels.get(number), client, server, opened, random);
        if ended != Ending::Over {
            ending = ended;
        }
    }
    if opened.goes_on() && ending == Ending::Over {
        ending = Ending::Stopped;
    }
    format!(
        "async fn {name}() {{
    let (near, far) = mcp_runtime::transport::duplex();
    let both = std::sync::Arc::new(tokio::sync::Barrier::new(2));
    let client = async {{
        let mut session = {module}::Guest::new(near);
{}    }};
    let server = async {{
        let mut session = {module}::Waiter::new(far);
{}    }};
    tokio::join!(client, server);
}}
",
        opened.listens(&clients[0]) + &side(&clients, ending),
        opened.listens(&servers[0]) + &side(&servers, ending)
    )
}

/// What a side does with its session: its parts side by side, and then the close, if all are at their ends.
fn side(parts: &[Program<'_>], ending: Ending) -> String {
    let [first, second] = parts else {
        let last = match ending {
            Ending::Closed => "",
            Ending::Over => CLOSE,
            Ending::Stopped => WAIT,
        };
        return parts.iter().map(|whole| whole.code.clone() + last).collect();
    };
    let mut code = "        let (a, b) = session.split();\n".to_owned();
    for (name, part) in [("a", first), ("b", second)] {
        let (head, code_of_part) = (format!("let {name} = async {{ let mut session = {name};"), &part.code);
        write!(code, "        {head}\n{code_of_part}        session }};\n").unwrap();
    }
    code += "        let (a, b) = tokio::join!(a, b);\n";
    code += WAIT;
    if ending == Ending::Over {
        code += "        let (a, b) = tokio::join!(a.close(), b.close());\n        a.and(b).unwrap();\n";
    }
    code
}

/// Both sides go one way through a channel, if there is one, and through what is opened next to it.
fn through<'a>(
    channel: Option<&'a Linear>,
    client: &mut Program<'a>,
    server: &mut Program<'a>,
    mut opened: Option<(&mut Opened<'a>, &mut Numbers)>,
    random: &mut Random,
) -> Ending {
    let crosses = opened.is_some();
    let mut pair = channel.map(|channel| Pair { channel, at: Some(0), value: 0, crosses });
    for _ in 0..STEPS {
        if let Some((opened, numbers)) = &mut opened {
            while random.percent(40) {
                opened.act(client, server, numbers, random);
            }
        }
        if let Some(pair) = &mut pair
            && !pair.step(client, server, random)
        {
            return Ending::Closed;
        }
    }
    if pair.is_some_and(|pair| pair.at.is_some()) {
        return Ending::Stopped;
    }
    client.has(["close".to_owned()]);
    server.has(["close".to_owned()]);
    Ending::Over
}
