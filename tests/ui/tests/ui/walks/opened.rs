//! Both sides use the replicated channels of a session, and those of its sub-sessions.

use std::fmt::Write;
use std::mem;

use super::handler;
use super::linear::{Message, Side};
use super::pair::Pair;
use super::program::{Program, fields_of, pattern};
use super::stars::{Body, Star, methods};
use crate::random::Random;

/// The values that a key may have.
const KEYS: usize = 3;

/// How a side gets what the other one opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hears {
    /// Its handler answers.
    Handler,
    /// It takes from its queue what comes.
    Queue,
    /// `next` of the value of the sub-session gives it.
    Next,
}

/// The numbers of one way.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// How many sub-sessions were opened.
    sub_sessions: usize,
    /// What the last message carried.
    value: usize,
}

/// A sub-session, and what each side does with its value.
#[derive(Debug)]
struct SubSession<'a> {
    pair: Pair<'a>,
    client: Program<'a>,
    server: Program<'a>,
    inner: Opened<'a>,
}

/// The replicated channels of a session, or of a sub-session, and the sub-sessions that are open in it.
#[derive(Debug)]
pub(crate) struct Opened<'a> {
    stars: &'a [Star],
    /// The name of the sub-session and its number, unless they are those of the session.
    of: Option<(&'static str, usize)>,
    /// How the client hears, and the server.
    hears: [Hears; 2],
    sub_sessions: Vec<SubSession<'a>>,
}

impl<'a> Opened<'a> {
    pub(crate) fn new(
        stars: &'a [Star],
        of: Option<(&'static str, usize)>,
        random: &mut Random,
    ) -> Opened<'a> {
        let ways: &[Hears] = match of {
            None => &[Hears::Handler, Hears::Queue],
            Some(_) => &[Hears::Handler, Hears::Queue, Hears::Next],
        };
        let mut hears = || *random.one(ways).unwrap();
        Opened { stars, of, hears: [hears(), hears()], sub_sessions: Vec::new() }
    }

    /// Whether a sub-session goes on.
    pub(crate) fn goes_on(&self) -> bool {
        !self.sub_sessions.is_empty()
    }

    fn hears(&self, side: Side) -> Hears {
        self.hears[usize::from(side == Side::Server)]
    }

    /// Whether the other side opens something.
    fn is_for(&self, side: Side) -> bool {
        self.stars.iter().any(|star| star.by != side)
    }

    /// The name of the sub-session, or nothing.
    fn body(&self) -> &'static str {
        self.of.map_or("", |(body, _)| body)
    }

    /// A variable of its own.
    fn variable(&self, name: &str) -> String {
        self.of.map_or(name.to_owned(), |(_, number)| format!("{name}_{number}"))
    }

    /// What a side does first, to get what the other one opens.
    pub(crate) fn listens(&self, program: &Program<'_>) -> String {
        if !self.is_for(program.side) {
            return String::new();
        }
        let value = &program.variable;
        match self.hears(program.side) {
            Hears::Handler => {
                let handler = handler::module(program.module, program.side, self.body());
                let heard = self.variable("heard");
                format!(
                    "        let (sender, mut {heard}) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn({value}.incoming().serve({handler}::Answering(sender)));\n"
                )
            }
            Hears::Queue => format!("        let {} = {value}.incoming();\n", self.variable("incoming")),
            Hears::Next => String::new(),
        }
    }

    /// Opens something, or goes on with a sub-session.
    pub(crate) fn act(
        &mut self,
        client: &mut Program<'a>,
        server: &mut Program<'a>,
        numbers: &mut Numbers,
        random: &mut Random,
    ) {
        if self.sub_sessions.is_empty() || random.percent(40) {
            let Some(star) = random.one(self.stars) else { return };
            let (opener, other) = match star.by {
                Side::Client => (client, server),
                Side::Server => (server, client),
            };
            numbers.value += 2;
            match (&star.body, &star.message.reply) {
                (Some(body), _) => self.sub_session(star, body, (opener, other), numbers, random),
                (None, Some(_)) => self.request(star, (opener, other), numbers, random),
                (None, None) => self.notification(star, (opener, other), numbers, random),
            }
            return;
        }
        let place = random.below(self.sub_sessions.len());
        let SubSession { pair, client: ours, server: theirs, inner } = &mut self.sub_sessions[place];
        if random.percent(40) {
            inner.act(ours, theirs, numbers, random);
        } else {
            assert!(pair.step(ours, theirs, random));
        }
        client.code += &mem::take(&mut ours.code);
        server.code += &mem::take(&mut theirs.code);
        if pair.at.is_none() {
            assert_eq!((&ours.state, &theirs.state), (&None, &None));
            // What it has opened ends with it.
            self.sub_sessions.remove(place);
        }
    }

    /// The call of a method of a value, by the value or a handle.
    fn call(opener: &Program<'a>, name: &str, value: usize, keys: &[usize], by: &str) -> String {
        let (name, method) = opener.method(name);
        format!("{by}.{name}({})", opener.given(&method, value, keys))
    }

    /// Takes what has come, which is this message.
    fn take(&self, star: &Star, other: &mut Program<'a>, more: Option<String>, value: usize) {
        let Message { name, carries, .. } = &star.message;
        let fields: Vec<String> = carries.then(|| "payload".to_owned()).into_iter().chain(more).collect();
        let from = match self.hears(other.side) {
            Hears::Handler => format!("{}.recv()", self.variable("heard")),
            Hears::Queue => format!("{}.next()", self.variable("incoming")),
            Hears::Next => {
                other.next_of_a_star(name, fields);
                return other.payload(*carries, value);
            }
        };
        let (module, incoming, fields) = (other.module, self.incoming(other.side), fields_of(fields));
        writeln!(
            other.code,
            "        let Some({module}::{incoming}::{name}{fields}) = {from}.await
            else {{ panic!(\"not `{name}`\") }};"
        )
        .unwrap();
        other.payload(*carries, value);
    }

    /// The enum of what a side hears, with the path of its module.
    fn incoming(&self, side: Side) -> String {
        format!("{}::{}Incoming", side.module(), self.body())
    }

    fn notification(
        &self,
        star: &Star,
        (opener, other): (&mut Program<'a>, &mut Program<'a>),
        numbers: &Numbers,
        random: &mut Random,
    ) {
        let by = by(opener, random);
        let call =
            Self::call(opener, &format!("send{}", star.message.name), numbers.value, &opener.keys, &by);
        writeln!(opener.code, "        {call}.await.unwrap();").unwrap();
        self.take(star, other, None, numbers.value);
    }

    fn request(
        &self,
        star: &Star,
        (opener, other): (&mut Program<'a>, &mut Program<'a>),
        numbers: &mut Numbers,
        random: &mut Random,
    ) {
        let Message { name, carries, reply, .. } = &star.message;
        let gives = reply.as_ref().is_some_and(|(_, carries)| *carries);
        let handled = self.hears(other.side) == Hears::Handler;
        // Two at once, of which the second one is answered first.
        let many = if random.percent(30) { 2 } else { 1 };
        let values = [numbers.value, numbers.value + 2];
        numbers.value += 2;
        // A handler sees by the number whether it refuses.
        let refuses = many == 1 && random.percent(30) && (*carries || !handled);
        let values = values.map(|value| value + usize::from(refuses));
        let by = by(opener, random);
        let calls: Vec<String> = values[..many]
            .iter()
            .map(|value| format!("async {{ {}.await }}", Self::call(opener, name, *value, &opener.keys, &by)))
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
        let holds = other.api.variant(&self.incoming(other.side), name);
        let of = holds.split_once("Responder<").unwrap().1.split('>').next().unwrap();
        for (place, value) in values[..many].iter().enumerate().rev() {
            let answer = match (refuses, gives) {
                (true, _) => "refuse(mcp_runtime::RpcError::new(-32001, \"no\"))".to_owned(),
                (false, true) => format!("respond({}::{of}::new({value}))", other.module),
                (false, false) => "respond(())".to_owned(),
            };
            writeln!(other.code, "        responder_{place}.{answer}.unwrap();").unwrap();
        }
    }

    fn sub_session(
        &mut self,
        star: &Star,
        body: &'a Body,
        (opener, other): (&mut Program<'a>, &mut Program<'a>),
        numbers: &mut Numbers,
        random: &mut Random,
    ) {
        let role = |side: Side| format!("{}::{}", side.module(), body.name);
        let of_body = |other: &&SubSession<'_>| other.client.role == role(Side::Client);
        let held: Vec<usize> = self
            .sub_sessions
            .iter()
            .filter(of_body)
            .filter_map(|other| other.client.keys.last().copied())
            .collect();
        let Some(key) = (0..KEYS).find(|key| !held.contains(key)) else { return };
        numbers.sub_sessions += 1;
        let variable = format!("sub_{}", numbers.sub_sessions);
        let value = numbers.value;
        let keys: Vec<usize> = opener.keys.iter().copied().chain([key]).collect();
        let value_of = |program: &Program<'a>| Program {
            api: program.api,
            module: program.module,
            side: program.side,
            role: role(program.side),
            state: None,
            variable: variable.clone(),
            keys: keys.clone(),
            always: Vec::new(),
            hears: false,
            code: String::new(),
        };
        let Message { name, reply, .. } = &star.message;
        let (mut ours, mut theirs) = (value_of(opener), value_of(other));

        self.take(star, other, Some(format!("mut {variable}")), value);
        theirs.state = other.api.variant_of(&self.incoming(other.side), name, &theirs.role).0;
        let in_one = reply.is_some() && random.percent(50);
        let first = if in_one { name.clone() } else { format!("send{name}") };
        let (_, method) = opener.method(&first);
        let call = Self::call(opener, &first, value, &keys, &by(opener, random));
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
        }
        let inner = Opened::new(&body.stars, Some((body.name, numbers.sub_sessions)), random);
        if !refuses {
            for program in [&mut ours, &mut theirs] {
                program.always = methods(inner.stars, program.side);
                program.hears = inner.is_for(program.side);
                program.code += &inner.listens(program);
            }
        }
        opener.code += &mem::take(&mut ours.code);
        other.code += &mem::take(&mut theirs.code);
        if refuses {
            assert_eq!((ours.state, theirs.state), (None, None), "a refusal ends it");
            return;
        }
        let (client, server) = match star.by {
            Side::Client => (ours, theirs),
            Side::Server => (theirs, ours),
        };
        let pair = Pair { channel: &body.channel, at: Some(0), value, crosses: true };
        self.sub_sessions.push(SubSession { pair, client, server, inner });
    }
}

/// What opens a replicated channel: the value, or a handle of it.
fn by(opener: &Program<'_>, random: &mut Random) -> String {
    if random.percent(50) { opener.variable.clone() } else { format!("{}.handle()", opener.variable) }
}
