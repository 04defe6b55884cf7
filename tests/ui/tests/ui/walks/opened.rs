//! Both sides use the replicated channels of a session.

use std::fmt::Write;
use std::mem;

use super::api::Api;
use super::handler;
use super::linear::{Linear, Message, Side};
use super::pair::Pair;
use super::program::{Program, pattern};
use super::stars::Star;
use crate::random::Random;

/// The values that a key may have.
const KEYS: usize = 3;
/// A sub-session, and what each side does with its value.
#[derive(Debug)]
struct SubSession<'a> {
    body: &'static str,
    pair: Pair<'a>,
    client: Program<'a>,
    server: Program<'a>,
}

/// The replicated channels of one way, and the sub-sessions that are open.
#[derive(Debug)]
pub(crate) struct Opened<'a> {
    stars: &'a [Star],
    api: &'a Api,
    module: &'a str,
    /// The sides whose handler answers; the other one takes from its queue what comes.
    handlers: Vec<Side>,
    sub_sessions: Vec<SubSession<'a>>,
    /// How many sub-sessions were opened.
    count: usize,
    /// The number that the last message carried.
    value: usize,
}

impl<'a> Opened<'a> {
    pub(crate) fn new(stars: &'a [Star], api: &'a Api, module: &'a str, random: &mut Random) -> Opened<'a> {
        let handlers = [Side::Client, Side::Server].into_iter().filter(|_| random.percent(50)).collect();
        Opened { stars, api, module, handlers, sub_sessions: Vec::new(), count: 0, value: 0 }
    }

    /// Whether a sub-session goes on.
    pub(crate) fn goes_on(&self) -> bool {
        !self.sub_sessions.is_empty()
    }

    /// What a side does first, to get what the other one opens.
    pub(crate) fn listens(&self, side: Side) -> String {
        if !self.stars.iter().any(|star| star.by != side) {
            return String::new();
        }
        if self.handlers.contains(&side) {
            let handler = handler::module(self.module, side);
            return format!(
                "        let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(session.incoming().serve({handler}::Answering(sender)));\n"
            );
        }
        "        let incoming = session.incoming();\n".to_owned()
    }

    /// Opens something, or goes on with a sub-session.
    pub(crate) fn act(&mut self, client: &mut Program<'a>, server: &mut Program<'a>, random: &mut Random) {
        if self.sub_sessions.is_empty() || random.percent(40) {
            let Some(star) = random.one(self.stars) else { return };
            let (opener, other) = match star.by {
                Side::Client => (client, server),
                Side::Server => (server, client),
            };
            self.value += 2;
            match (&star.body, &star.message.reply) {
                (Some((name, body)), _) => self.sub_session(star, (name, body), opener, other, random),
                (None, Some(_)) => self.request(star, opener, other, random),
                (None, None) => self.notification(star, opener, other, random),
            }
            return;
        }
        let place = random.below(self.sub_sessions.len());
        let sub_session = &mut self.sub_sessions[place];
        let SubSession { pair, client: ours, server: theirs, .. } = sub_session;
        assert!(pair.step(ours, theirs, random));
        client.code += &mem::take(&mut ours.code);
        server.code += &mem::take(&mut theirs.code);
        if pair.at.is_none() {
            assert_eq!((&ours.state, &theirs.state), (&None, &None));
            self.sub_sessions.remove(place);
        }
    }

    /// The call of a method of the session, by the session or a handle.
    fn call(&self, opener: &Program<'a>, name: &str, value: usize, key: Option<usize>, of: &str) -> String {
        let (name, method) = opener.method(name);
        format!("{of}.{name}({})", opener.given(&method, value, key))
    }

    /// Takes what has come, which is this message.
    fn take(&self, star: &Star, other: &mut Program<'a>, more: Option<String>, value: usize) {
        let Message { name, carries, .. } = &star.message;
        let fields = handler::fields(carries.then(|| "payload".to_owned()).into_iter().chain(more));
        let from = if self.handlers.contains(&other.side) { "heard.recv()" } else { "incoming.next()" };
        let (module, side) = (self.module, other.side.module());
        writeln!(
            other.code,
            "        let Some({module}::{side}::Incoming::{name}{fields}) = {from}.await
            else {{ panic!(\"not `{name}`\") }};"
        )
        .unwrap();
        other.payload(*carries, value);
    }

    fn notification(
        &mut self,
        star: &Star,
        opener: &mut Program<'a>,
        other: &mut Program<'a>,
        random: &mut Random,
    ) {
        let call = self.call(opener, &format!("send{}", star.message.name), self.value, None, by(random));
        writeln!(opener.code, "        {call}.await.unwrap();").unwrap();
        self.take(star, other, None, self.value);
    }

    fn request(
        &mut self,
        star: &Star,
        opener: &mut Program<'a>,
        other: &mut Program<'a>,
        random: &mut Random,
    ) {
        let Message { name, carries, reply, .. } = &star.message;
        let gives = reply.as_ref().is_some_and(|(_, carries)| *carries);
        let handled = self.handlers.contains(&other.side);
        // Two at once, of which the second one is answered first.
        let many = if random.percent(30) { 2 } else { 1 };
        let values = [self.value, self.value + 2];
        self.value += 2;
        // A handler sees by the number whether it refuses.
        let refuses = many == 1 && random.percent(30) && (*carries || !handled);
        let values = values.map(|value| value + usize::from(refuses));
        let of = by(random);
        let calls: Vec<String> = values[..many]
            .iter()
            .map(|value| format!("async {{ {}.await }}", self.call(opener, name, *value, None, of)))
            .collect();
        writeln!(opener.code, "        let replies = tokio::join!({},);", calls.join(", ")).unwrap();
        for (place, value) in values[..many].iter().enumerate() {
            if refuses {
                writeln!(opener.code, "        assert!(replies.{place}.unwrap_err().is_refused());").unwrap();
                continue;
            }
            let payload = if gives { "payload" } else { "()" };
            writeln!(opener.code, "        let {payload} = replies.{place}.unwrap();").unwrap();
            opener.payload(gives, if handled && !carries { handler::ANSWER } else { *value });
        }
        if handled {
            return;
        }
        for (place, value) in values[..many].iter().enumerate() {
            self.take(star, other, Some(format!("responder_{place}")), *value);
        }
        let holds = self.api.variant(&format!("{}::Incoming", other.side.module()), name);
        let of = holds.split_once("Responder<").unwrap().1.trim_end_matches('>');
        for (place, value) in values[..many].iter().enumerate().rev() {
            let answer = match (refuses, gives) {
                (true, _) => "refuse(mcp_runtime::RpcError::new(-32001, \"no\"))".to_owned(),
                (false, true) => format!("respond(&{}::{of}::new({value}))", self.module),
                (false, false) => "respond(&())".to_owned(),
            };
            writeln!(other.code, "        responder_{place}.{answer}.unwrap();").unwrap();
        }
    }

    fn sub_session(
        &mut self,
        star: &'a Star,
        (body, channel): (&'static str, &'a Linear),
        opener: &mut Program<'a>,
        other: &mut Program<'a>,
        random: &mut Random,
    ) {
        let holds = |key| self.sub_sessions.iter().any(|other| other.body == body && other.client.key == key);
        let Some(key) = (0..KEYS).map(Some).find(|key| !holds(*key)) else { return };
        self.count += 1;
        let variable = format!("sub_{}", self.count);
        let value = self.value;
        let value_of = |side: Side| Program {
            api: self.api,
            module: self.module,
            side,
            role: format!("{}::{body}", side.module()),
            state: None,
            variable: variable.clone(),
            key,
            always: Vec::new(),
            code: String::new(),
        };
        let Message { name, reply, .. } = &star.message;
        let (mut ours, mut theirs) = (value_of(opener.side), value_of(other.side));

        self.take(star, other, Some(format!("mut {variable}")), value);
        let incoming = format!("{}::Incoming", other.side.module());
        theirs.state = self.api.variant_of(&incoming, name, &theirs.role).0;
        let in_one = reply.is_some() && random.percent(50);
        let first = if in_one { name.clone() } else { format!("send{name}") };
        let (_, method) = opener.method(&first);
        let call = self.call(opener, &first, value, key, by(random));
        let refuses = reply.is_some() && random.percent(30);
        if in_one && refuses {
            writeln!(opener.code, "        assert!({call}.await.unwrap_err().is_refused());").unwrap();
        } else {
            let pattern = pattern(method.gives(), Some(format!("mut {variable}")));
            writeln!(opener.code, "        let {pattern} = {call}.await.unwrap();").unwrap();
            opener.payload(method.gives(), value);
            ours.state = method.opens(&ours.role);
        }
        if let Some((reply, _)) = reply {
            theirs.has([format!("send{reply}"), "refuse".to_owned()]);
            theirs.call(&if refuses { "refuse".to_owned() } else { format!("send{reply}") }, value);
            let received = format!("recv{reply}");
            if !in_one {
                ours.has([received.clone()]);
                if refuses { ours.refused(&received, value) } else { ours.call(&received, value) }
            }
            opener.code += &mem::take(&mut ours.code);
            other.code += &mem::take(&mut theirs.code);
        }
        if refuses {
            assert_eq!((ours.state, theirs.state), (None, None), "a refusal ends it");
            return;
        }
        let (client, server) = match star.by {
            Side::Client => (ours, theirs),
            Side::Server => (theirs, ours),
        };
        let pair = Pair { channel, at: Some(0), value, crosses: true };
        self.sub_sessions.push(SubSession { body, pair, client, server });
    }
}

/// What opens a replicated channel.
fn by(random: &mut Random) -> &'static str {
    if random.percent(50) { "session" } else { "session.handle()" }
}
