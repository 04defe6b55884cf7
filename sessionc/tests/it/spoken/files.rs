//! Random files, and what a peer that was written for one may write.

use std::collections::BTreeSet;
use std::fmt::Write;

use mcp_runtime::protocol::Side;
use serde_json::{Map, Value, json};

use crate::random::Random;

const CAPABILITIES: [&str; 4] = ["wine", "ask", "ask.a", "ask.b"];
const CONDITIONS: [&str; 5] = ["f", "g", "g = \"x\"", "g = \"y\"", "h"];
/// The fields of payloads, and what each may be.
const FIELDS: [(&str, [&str; 3]); 3] = [
    ("f", ["bool", "true", "bool | null"]),
    ("g", ["\"x\" | \"y\"", "string", "\"x\""]),
    ("h", ["uint", "int", "uint | null"]),
];

/// What may be declared: of one method, messages whose conditions tell them apart, and one without a condition.
const SLOTS: [Slot; 6] = [
    Slot { method: "a", sender: Some(Side::Client), is_request: false, has_condition: true },
    Slot { method: "a", sender: Some(Side::Client), is_request: false, has_condition: true },
    Slot { method: "a", sender: Some(Side::Client), is_request: false, has_condition: false },
    Slot { method: "b", sender: Some(Side::Server), is_request: true, has_condition: true },
    Slot { method: "b", sender: Some(Side::Server), is_request: true, has_condition: false },
    Slot { method: "c", sender: None, is_request: true, has_condition: false },
];

#[derive(Clone, Copy)]
struct Slot {
    method: &'static str,
    /// Both send it, if neither is named.
    sender: Option<Side>,
    is_request: bool,
    has_condition: bool,
}

impl Slot {
    fn senders(&self) -> impl Iterator<Item = Side> {
        let named = self.sender;
        [Side::Client, Side::Server].into_iter().filter(move |side| named.is_none_or(|named| named == *side))
    }
}

impl Gate {
    fn holder(&self, sender: Side) -> Side {
        match self.holder {
            "own" => sender,
            "peer" => sender.other(),
            "client" => Side::Client,
            _ => Side::Server,
        }
    }
}

/// A method, whether it is of a request, and params.
type Opening = (&'static str, bool, Option<Value>);

/// A field of a payload: whether it must be there, and which of its types it has.
type Field = Option<(bool, usize)>;

#[derive(Clone)]
enum Params {
    None,
    Any,
    Type(usize),
}

/// `requires`: whose capability it is, and the condition with `if` or `unless`.
#[derive(Clone)]
struct Gate {
    holder: &'static str,
    capability: &'static str,
    condition: Option<(&'static str, &'static str)>,
}

/// `during`: requests of the receiver, and what their params must have.
#[derive(Clone)]
struct During {
    requests: Vec<&'static str>,
    condition: Option<&'static str>,
}

#[derive(Clone)]
struct Message {
    condition: &'static str,
    params: Params,
    gates: Vec<Gate>,
    during: Option<During>,
    /// Of a request.
    is_cancellable: bool,
    /// Where it leads from each of the two linear states; nothing if it is not permitted there. Otherwise it may be sent at
    /// any time.
    linear: Option<[Option<usize>; 2]>,
}

/// What a side announces.
#[derive(Clone)]
struct Announced {
    /// The shape has a field for each capability.
    has_shape: bool,
    default: Option<&'static str>,
    is_open: bool,
}

/// A sub-session that says more than once what it is about.
#[derive(Clone)]
struct Watching {
    key: &'static str,
    /// The notifications are of one method, and this tells the last one.
    has_last: bool,
    last_ends: bool,
    last_is_optional: bool,
    /// The field of the key.
    place: &'static str,
    /// The modifier of the request that opens it.
    cancellable: &'static str,
}

/// The notifications that belong to a request, and those that change what a side can do.
#[derive(Clone, Default)]
struct Extra {
    /// How a request is cancelled: the field of its id, and whether its reply follows.
    cancels: Option<(&'static str, bool)>,
    /// The field of a request that has the token of its progress.
    reports: Option<&'static str>,
    /// The field that names what is granted and revoked, and who does it; both sides if none is named.
    grants: Option<(&'static str, Option<Side>)>,
}

#[derive(Clone)]
pub(crate) struct File {
    types: Vec<[Field; 3]>,
    messages: Vec<Option<Message>>,
    /// The second message with a condition is declared first.
    is_swapped: bool,
    announced: [Option<Announced>; 2],
    /// The announcement comes first, or at any time.
    greets_first: bool,
    watching: Option<Watching>,
    extra: Extra,
}

fn one<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len())]
}

fn some<T>(random: &mut Random, percent: usize, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
    random.percent(percent).then(|| make(random))
}

impl File {
    pub(crate) fn random(random: &mut Random) -> File {
        let field = |random: &mut Random| some(random, 75, |random| (random.percent(25), random.below(3)));
        File {
            types: (0..3).map(|_| [field(random), field(random), field(random)]).collect(),
            messages: SLOTS.iter().map(|slot| some(random, 60, |random| message(random, *slot))).collect(),
            is_swapped: random.percent(50),
            announced: [some(random, 80, announced), some(random, 80, announced)],
            greets_first: random.percent(60),
            watching: some(random, 40, watching),
            extra: Extra {
                cancels: some(random, 50, |random| {
                    (one(random, &["id", "id", "id", "call"]), random.percent(30))
                }),
                reports: some(random, 40, |random| one(random, &["h", "h", "t"])),
                grants: some(random, 30, |random| {
                    let side = one(random, &[Some(Side::Client), Some(Side::Server), None]);
                    (one(random, &["can", "can", "may"]), side)
                }),
            },
        }
    }

    /// One part becomes another one.
    pub(crate) fn edit(&mut self, random: &mut Random) {
        let other = File::random(random);
        match random.below(15) {
            0 | 1 => {
                let (place, field) = (random.below(3), random.below(3));
                self.types[place][field] = other.types[place][field];
            }
            2..=6 => {
                let place = random.below(SLOTS.len());
                let (Some(known), Some(next)) = (&mut self.messages[place], &other.messages[place]) else {
                    self.messages[place] = other.messages[place].clone();
                    return;
                };
                match random.below(6) {
                    4 => known.during.clone_from(&next.during),
                    5 => known.is_cancellable = next.is_cancellable,
                    0 => known.condition = next.condition,
                    1 => known.params = next.params.clone(),
                    2 => known.gates.clone_from(&next.gates),
                    _ => known.linear = next.linear,
                }
            }
            7 => self.is_swapped = !self.is_swapped,
            8 | 9 => {
                let place = random.below(2);
                self.announced[place] = other.announced[place].clone();
            }
            10 => self.greets_first = other.greets_first,
            11 => self.extra.cancels = other.extra.cancels,
            12 => self.extra.reports = other.extra.reports,
            13 => self.extra.grants = other.extra.grants,
            _ => self.watching = other.watching,
        }
    }

    /// The file without what the compiler refuses: gates of a side that announces nothing, defaults that no gate names,
    /// messages that an earlier one hides, and conditions that a shape never meets.
    pub(crate) fn written(&self) -> File {
        let mut file = self.clone();
        let announces = self.announced.each_ref().map(Option::is_some);
        for (place, message) in file.messages.iter_mut().enumerate() {
            let Some(message) = message else { continue };
            message.gates.retain(|gate| match gate.holder {
                "client" => announces[0],
                "server" => announces[1],
                _ => announces[0] && announces[1],
            });
            let conditions =
                message.gates.iter().filter_map(|gate| gate.condition.map(|(_, condition)| condition));
            let mut conditions = conditions.chain(SLOTS[place].has_condition.then_some(message.condition));
            let can_meet = match message.params {
                Params::Type(place) => conditions.all(|condition| self.can_meet(place, condition)),
                Params::None => conditions.next().is_none(),
                Params::Any => true,
            };
            if !can_meet {
                message.params = Params::Any;
            }
        }
        let (first, last) = if self.is_swapped { (1, 0) } else { (0, 1) };
        if let [Some(one), Some(other)] = [&file.messages[first], &file.messages[last]]
            && other.condition.starts_with(one.condition)
        {
            file.messages[last] = None;
        }
        let known: Vec<String> = (0..SLOTS.len())
            .filter(|place| file.messages[*place].is_some())
            .map(|place| format!("M{place}"))
            .collect();
        let with_fields = file.clone();
        for message in file.messages.iter_mut().flatten() {
            message.is_cancellable &= file.extra.cancels.is_some();
            let Some(during) = &mut message.during else { continue };
            let watches = file.watching.is_some();
            during
                .requests
                .retain(|name| known.iter().any(|known| known == name) || (*name == "Watch" && watches));
            let is_met =
                |condition: &str| during.requests.iter().any(|name| with_fields.may_meet(name, condition));
            during.condition = during.condition.filter(|condition| is_met(condition));
            if during.requests.is_empty() {
                message.during = None;
            }
        }
        if file.extra.cancels.is_none()
            && let Some(watching) = &mut file.watching
        {
            watching.cancellable = "";
        }
        for (place, side) in [Side::Client, Side::Server].into_iter().enumerate() {
            let named = file.named(side);
            if let Some(announced) = &mut file.announced[place] {
                announced.default = announced.default.filter(|default| named.contains(default));
            }
        }
        file
    }

    /// Whether the params of a request may meet a condition.
    fn may_meet(&self, name: &str, condition: &str) -> bool {
        let place = name.strip_prefix('M').and_then(|place| place.parse::<usize>().ok());
        match place.and_then(|place| self.messages[place].as_ref()).map(|message| &message.params) {
            Some(Params::Any) => true,
            Some(Params::Type(place)) => self.can_meet(*place, condition),
            Some(Params::None) | None => false,
        }
    }

    fn can_meet(&self, place: usize, condition: &str) -> bool {
        let (name, literal) =
            condition.split_once(" = ").map_or((condition, None), |(name, literal)| (name, Some(literal)));
        let field = FIELDS.iter().position(|(field, _)| *field == name).unwrap();
        let kind = self.types[place][field].map(|(_, kind)| FIELDS[field].1[kind]);
        kind.is_some_and(|kind| literal.is_none_or(|literal| kind == "string" || kind.contains(literal)))
    }

    fn type_text(&self, place: usize) -> String {
        let fields = self.types[place].iter().zip(FIELDS).filter_map(|(field, (name, types))| {
            let (required, kind) = (*field)?;
            Some(format!("{name}{}: {}", if required { "" } else { "?" }, types[kind]))
        });
        format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
    }

    pub(crate) fn text(&self) -> String {
        let mut text = "protocol P \"1\"\n".to_owned();
        for place in 0..self.types.len() {
            writeln!(text, "type T{place} = {}", self.type_text(place)).unwrap();
        }
        let shape = |announced: &Option<Announced>| match announced {
            Some(announced) if announced.has_shape => {
                "{ can: { wine?: object, ask?: { a?: object, b?: object } } }"
            }
            _ => "_",
        };
        let [client, server] = &self.announced;
        writeln!(text, "request Hello \"hello\" ({}) -> Welcome ({})", shape(client), shape(server)).unwrap();
        let mut order: Vec<usize> = (0..SLOTS.len()).collect();
        if self.is_swapped {
            order.swap(0, 1);
        }
        for place in order {
            if let Some(message) = &self.messages[place] {
                text += &message.text(place);
            }
        }
        for (word, message, announced) in [("client", "Hello", client), ("server", "Welcome", server)] {
            let Some(announced) = announced else { continue };
            let default = announced.default.map(|path| format!(" default {path}")).unwrap_or_default();
            let open = if announced.is_open { " open until announced" } else { "" };
            writeln!(text, "capabilities {word} = {message}.can{default}{open}").unwrap();
        }
        text += &self.watching.as_ref().map(Watching::declarations).unwrap_or_default();
        text += &self.extra.declarations();
        text += "client C\nserver S = dual C\n";
        text + &self.session()
    }

    fn session(&self) -> String {
        let mut channels = Vec::new();
        let mut states = [Vec::new(), Vec::new()];
        for (place, message) in self.messages.iter().enumerate() {
            let (Some(message), slot) = (message, SLOTS[place]) else { continue };
            if let (Some(steps), Some(Side::Client)) = (message.linear, slot.sender) {
                let reply = if slot.is_request { " . ?reply" } else { "" };
                for (from, to) in steps.into_iter().enumerate() {
                    states[from].extend(to.map(|to| format!("!M{place}{reply} . L{to}")));
                }
                continue;
            }
            let sides = [Side::Client, Side::Server].into_iter();
            for side in sides.filter(|side| slot.sender.is_none_or(|sender| sender == *side)) {
                let (mark, back) = if side == Side::Client { ('!', '?') } else { ('?', '!') };
                let reply = if slot.is_request { format!(" . {back}reply") } else { String::new() };
                channels.push(format!("*( {mark}M{place}{reply} . End )"));
            }
        }
        channels.extend(self.watching.as_ref().map(|_| "*Watched".to_owned()));
        channels.extend(self.extra.channels());
        let mut text = String::new();
        if states.iter().any(|steps| !steps.is_empty()) {
            channels.push("L0".to_owned());
            for (number, steps) in states.iter().enumerate() {
                let steps = if steps.is_empty() { "End".to_owned() } else { steps.join(" ⊕ ") };
                writeln!(text, "L{number} = {steps}").unwrap();
            }
        }
        text += &self.watching.as_ref().map(Watching::session).unwrap_or_default();
        if !self.greets_first {
            channels.insert(0, "*( !Hello . ?Welcome . End )".to_owned());
            return text + &format!("C = ( {} )\n", channels.join(", "));
        }
        let rest =
            if channels.is_empty() { "End".to_owned() } else { format!("( {} )", channels.join(", ")) };
        text + &format!("C = !Hello . ?Welcome . {rest}\n")
    }

    /// What the side announces that was written for the file.
    pub(crate) fn announcement(&self, random: &mut Random, side: Side) -> Value {
        let Some(announced) = &self.announced[usize::from(side == Side::Server)] else { return json!({}) };
        let mut named: BTreeSet<&str> = self.named(side);
        if announced.has_shape {
            named = BTreeSet::from(CAPABILITIES);
        } else {
            // What is around a default may be announced without a part.
            named.extend(announced.default.map(|_| "ask"));
        }
        let mut can = Map::new();
        for path in named.into_iter().filter(|_| random.percent(50)) {
            match path.split_once('.') {
                None => drop(can.entry(path).or_insert_with(|| json!({}))),
                Some((around, part)) => can.entry(around).or_insert_with(|| json!({}))[part] = json!({}),
            }
        }
        json!({ "can": can })
    }

    /// What names a capability of a side in this file: its path, or a method that requires it.
    fn grantable(&self, side: Side) -> Vec<&'static str> {
        let mut grantable: Vec<&str> = self.named(side).into_iter().collect();
        for (slot, message) in SLOTS.iter().zip(&self.messages) {
            let holds = |gate: &Gate, sender: Side| gate.holder(sender) == side;
            let mut gates = message.iter().flat_map(|message| &message.gates);
            let mut senders = slot.senders();
            if gates.any(|gate| senders.any(|sender| holds(gate, sender))) {
                grantable.push(slot.method);
            }
        }
        grantable
    }

    /// The capabilities of a side that the gates of the file name.
    fn named(&self, side: Side) -> BTreeSet<&'static str> {
        let mut named = BTreeSet::new();
        for (place, message) in self.messages.iter().enumerate() {
            for gate in message.iter().flat_map(|message| &message.gates) {
                if SLOTS[place].senders().any(|sender| gate.holder(sender) == side) {
                    named.insert(gate.capability);
                }
            }
        }
        named
    }

    /// A request or a notification of a side: its name, its method, whether it is a request, and its params.
    /// `running` has the ids of its own requests that have no reply.
    pub(crate) fn opening(
        &self,
        random: &mut Random,
        side: Side,
        running: &[u64],
    ) -> Option<(String, Opening)> {
        let place = random.below(SLOTS.len() + 8);
        if let Some(slot) = SLOTS.get(place) {
            let message = self.messages[place].as_ref()?;
            if slot.sender.is_some_and(|sender| sender != side) {
                return None;
            }
            let params = match &message.params {
                Params::None => None,
                Params::Any => {
                    let mut params = message.any(random, *slot);
                    if let Some(field) = self.extra.reports.filter(|_| slot.is_request && random.percent(50))
                    {
                        params[field] = json!(random.below(2));
                    }
                    Some(params)
                }
                Params::Type(place) => Some(self.value(random, *place)),
            };
            return Some((format!("M{place}"), (slot.method, slot.is_request, params)));
        }
        if place == SLOTS.len() {
            let mut hello = || ("hello", true, Some(self.announcement(random, side)));
            return (side == Side::Client).then(|| ("Hello".to_owned(), hello()));
        }
        if place > SLOTS.len() + 2 {
            return self.extra.opening(random, side, running, &self.grantable(side));
        }
        let watching = self.watching.as_ref()?;
        let mut word = || json!(one(random, &["soup", "pie"]));
        let mut params: Map<String, Value> =
            Map::from_iter([("dish".to_owned(), word()), ("at".to_owned(), word())]);
        match side {
            Side::Client => Some(("Watch".to_owned(), ("watch", true, Some(params.into())))),
            Side::Server => {
                let is_done = random.percent(50);
                if (watching.has_last || watching.last_is_optional) && (is_done || random.percent(40)) {
                    params.insert("done".to_owned(), json!(is_done));
                }
                let name = if is_done && watching.has_last { "Done" } else { "Cooked" };
                Some((name.to_owned(), ("cooked", false, Some(params.into()))))
            }
        }
    }

    fn value(&self, random: &mut Random, place: usize) -> Value {
        let mut value = Map::new();
        for (field, (name, types)) in self.types[place].iter().zip(FIELDS) {
            let Some((required, kind)) = *field else { continue };
            if !required && random.percent(40) {
                continue;
            }
            let of = match types[kind] {
                "bool" => json!(random.percent(50)),
                "true" => json!(true),
                "bool | null" => one(random, &[Some(true), Some(false), None]).into(),
                "\"x\" | \"y\"" => json!(one(random, &["x", "y"])),
                "string" => json!(one(random, &["x", "y", "z"])),
                "\"x\"" => json!("x"),
                "uint" => json!(random.below(2)),
                "int" => json!(one(random, &[-1, 0])),
                _ => one(random, &[Some(0), None]).into(),
            };
            value.insert(name.to_owned(), of);
        }
        value.into()
    }
}

fn message(random: &mut Random, slot: Slot) -> Message {
    let gate = |random: &mut Random| Gate {
        holder: match slot.sender {
            Some(_) => one(random, &["client", "server"]),
            None => one(random, &["own", "peer"]),
        },
        capability: one(random, &CAPABILITIES),
        condition: some(random, 30, |random| (one(random, &["if", "unless"]), one(random, &CONDITIONS))),
    };
    let many = one(random, &[0, 0, 1, 1, 2]);
    let target = |random: &mut Random| some(random, 60, |random| random.below(2));
    Message {
        condition: if slot.has_condition { one(random, &CONDITIONS) } else { "" },
        params: match random.below(8) {
            0 => Params::None,
            1 => Params::Any,
            _ => Params::Type(random.below(3)),
        },
        gates: (0..many).map(|_| gate(random)).collect(),
        during: some(random, 25, |random| {
            let requests: &[&str] = match slot.sender {
                Some(Side::Client) => &["M3", "M4", "M5"],
                Some(Side::Server) => &["M5", "Watch"],
                None => &["M5"],
            };
            let requests = requests.iter().copied().filter(|_| random.percent(70)).collect();
            During { requests, condition: some(random, 40, |random| one(random, &CONDITIONS)) }
        }),
        is_cancellable: slot.is_request && random.percent(60),
        linear: some(random, 40, |random| [target(random), target(random)]),
    }
}

fn announced(random: &mut Random) -> Announced {
    Announced {
        has_shape: random.percent(40),
        default: some(random, 40, |random| one(random, &["ask.a", "ask.b"])),
        is_open: random.percent(30),
    }
}

fn watching(random: &mut Random) -> Watching {
    Watching {
        key: one(random, &["key", "key", "open key"]),
        has_last: random.percent(60),
        last_ends: random.percent(60),
        last_is_optional: random.percent(50),
        place: one(random, &["dish", "dish", "dish", "at"]),
        cancellable: one(random, &["", " cancellable", " cancellable until reply"]),
    }
}

impl Message {
    /// Params of any shape: with the fields that the message asks about, and no others.
    fn any(&self, random: &mut Random, slot: Slot) -> Value {
        let conditions = self.gates.iter().filter_map(|gate| gate.condition.map(|(_, condition)| condition));
        let conditions = conditions.chain(slot.has_condition.then_some(self.condition));
        let mut value = Map::new();
        for condition in conditions.filter(|_| random.percent(80)) {
            let (name, literal) = condition.split_once(" = ").unwrap_or((condition, "true"));
            value.insert(name.to_owned(), literal.parse().unwrap());
        }
        value.into()
    }

    fn text(&self, place: usize) -> String {
        let slot = SLOTS[place];
        let kind = if slot.is_request { "request" } else { "notification" };
        let condition = if slot.has_condition { format!(" if {}", self.condition) } else { String::new() };
        let params = match self.params {
            Params::None => String::new(),
            Params::Any => " (_)".to_owned(),
            Params::Type(place) => format!(" (T{place})"),
        };
        let reply = if slot.is_request { format!(" -> A{place} (_)") } else { String::new() };
        let gates = self.gates.iter().map(|gate| {
            let condition = gate.condition.map(|(word, what)| format!(" {word} {what}")).unwrap_or_default();
            format!(" requires {}.{}{condition}", gate.holder, gate.capability)
        });
        let gates: String = gates.collect();
        let cancellable = if self.is_cancellable { " cancellable" } else { "" };
        let during = self.during.as_ref().map(During::text).unwrap_or_default();
        let method = slot.method;
        format!("{kind} M{place} \"{method}\"{condition}{params}{reply}{gates}{during}{cancellable}\n")
    }
}

impl During {
    fn text(&self) -> String {
        let condition = self.condition.map(|condition| format!(" if {condition}")).unwrap_or_default();
        format!(" during {}{condition}", self.requests.join(" | "))
    }
}

impl Extra {
    fn declarations(&self) -> String {
        let mut text = String::new();
        if let Some((field, is_answered)) = self.cancels {
            let reply = if is_answered { " with reply error -5" } else { "" };
            writeln!(text, "notification Cancel \"cancel\" ({{ {field}: int }}) cancels {field}{reply}")
                .unwrap();
        }
        if let Some(field) = self.reports {
            writeln!(text, "notification Progress \"progress\" ({{ token: uint }}) reports token of {field}")
                .unwrap();
        }
        if let Some((field, _)) = self.grants {
            for (name, verb) in [("Grant", "grants"), ("Revoke", "revokes")] {
                writeln!(text, "notification {name} \"{verb}\" ({{ {field}: string }}) {verb} {field}")
                    .unwrap();
            }
        }
        text
    }

    fn channels(&self) -> Vec<String> {
        let Some((_, of)) = self.grants else { return Vec::new() };
        let sides = [(Side::Client, '!'), (Side::Server, '?')];
        let sides = sides.into_iter().filter(|(side, _)| of.is_none_or(|of| of == *side));
        let channels =
            sides.flat_map(|(_, mark)| ["Grant", "Revoke"].map(|name| format!("*( {mark}{name} . End )")));
        channels.collect()
    }

    fn opening(
        &self,
        random: &mut Random,
        side: Side,
        running: &[u64],
        grantable: &[&str],
    ) -> Option<(String, Opening)> {
        match random.below(4) {
            0 => {
                let (field, _) = self.cancels?;
                // A request that has opened a sub-session may be cancelled after its reply.
                let any = [1 + random.below(6) as u64];
                let is_any = running.is_empty() || random.percent(20);
                let id = one(random, if is_any { &any } else { running });
                let params = json!({ field: id });
                Some(("Cancel".to_owned(), ("cancel", false, Some(params))))
            }
            1 => {
                self.reports?;
                let params = json!({ "token": random.below(2) });
                Some(("Progress".to_owned(), ("progress", false, Some(params))))
            }
            _ => {
                let (field, of) = self.grants?;
                if of.is_some_and(|of| of != side) {
                    return None;
                }
                let (name, verb) =
                    one(random, &[("Grant", "grants"), ("Grant", "grants"), ("Revoke", "revokes")]);
                let what = (!grantable.is_empty()).then(|| one(random, grantable))?;
                Some((name.to_owned(), (verb, false, Some(json!({ field: what })))))
            }
        }
    }
}

impl Watching {
    fn declarations(&self) -> String {
        let done = if self.last_is_optional || self.has_last { ", done?: bool" } else { "" };
        let mut text = format!(
            "request Watch \"watch\" ({{ dish: string, at: string }}) -> Watching{}\n\
             notification Cooked \"cooked\" ({{ dish: string, at: string{done} }})\n",
            self.cancellable
        );
        let mut keyed = vec!["Watch", "Cooked"];
        if self.has_last {
            text += "notification Done \"cooked\" if done ({ dish: string, at: string, done?: bool })\n";
            keyed.push("Done");
        }
        let keyed: Vec<String> = keyed.into_iter().map(|name| format!("{name}.{}", self.place)).collect();
        text + &format!("{} dish = {}\n", self.key, keyed.join(" | "))
    }

    fn session(&self) -> String {
        let last = match (self.has_last, self.last_ends) {
            (false, _) => "",
            (true, true) => " & ?Done . End",
            (true, false) => " & ?Done . Cooking",
        };
        format!("Watched = !Watch . ?Watching . Cooking\nCooking = ?Cooked . Cooking{last}\n")
    }
}
