//! Protocols that grow in one way each, for measuring and for counting what the compiler does with them.
//!
//! A [`Shape`] writes its text at any size. [`Variant`] says how the roles relate and whether the shape stands twice
//! side by side. `benches/scale.rs` measures them, `tests/robustness_limits.rs` counts what they take.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use mcp_protocol_compiler::dual;

/// One way to grow.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// What it is called.
    pub(crate) name: &'static str,
    /// Its text at a size.
    pub(crate) write: fn(usize) -> Part,
    /// The sizes of the table in the README, each ten times the one before where that is possible.
    #[allow(dead_code, reason = "the tests have sizes of their own")]
    pub(crate) sizes: &'static [usize],
}

/// A session type with what it needs.
#[derive(Default)]
pub(crate) struct Part {
    /// Messages, groups, keys and definitions; `@` in a name stands for what tells two parts apart.
    pub(crate) items: String,
    /// The session type of the client.
    pub(crate) body: String,
    /// Whether `body` is a `( , )`, which cannot be one of several channels without being flattened.
    pub(crate) once: bool,
}

/// How the two roles are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// The server is the dual of the client.
    Dual,
    /// The same, compared as `compatible`.
    Compatible,
    /// The same, and the server is written out.
    #[allow(dead_code, reason = "only the bench has it")]
    Written,
    /// Two of the shape side by side, under different names.
    Twice,
}

/// All shapes.
pub(crate) const SHAPES: &[Shape] = &[
    Shape { name: "chain", write: chain, sizes: &[1_000, 10_000, 100_000] },
    Shape { name: "calls", write: calls, sizes: &[100, 1_000, 10_000] },
    Shape { name: "definitions", write: definitions, sizes: &[1_000, 10_000, 100_000] },
    Shape { name: "streaming", write: streaming, sizes: &[1_000, 10_000] },
    Shape { name: "choice", write: choice, sizes: &[200, 2_000, 20_000] },
    Shape { name: "mixed choice", write: mixed, sizes: &[200, 2_000, 20_000] },
    Shape { name: "mixed steps", write: mixed_steps, sizes: &[200, 2_000] },
    Shape { name: "mixed chain", write: mixed_chain, sizes: &[100, 1_000] },
    Shape { name: "mixed nest", write: mixed_nest, sizes: &[10, 100] },
    Shape { name: "nested choice", write: nested, sizes: &[3, 4, 5, 6, 7] },
    Shape { name: "tree", write: tree, sizes: &[9, 12, 15] },
    Shape { name: "recursion", write: recursion, sizes: &[10, 100] },
    Shape { name: "instances", write: sub_sessions, sizes: &[200, 2_000, 20_000] },
    Shape { name: "instances on the way", write: sub_sessions_on_the_way, sizes: &[50, 500] },
    Shape { name: "channels", write: channels, sizes: &[50, 500] },
    Shape { name: "cancellable", write: cancellable, sizes: &[4, 8, 12, 100, 1_000] },
    Shape { name: "open requests", write: open, sizes: &[8, 12, 18, 30] },
    Shape { name: "open in an instance", write: open_in_sub_session, sizes: &[8, 12, 18, 30] },
    Shape { name: "open by mistake", write: open_mistaken, sizes: &[8, 12, 18, 30] },
    Shape { name: "nested requests", write: open_nested, sizes: &[100, 1_000] },
    Shape { name: "keyed instance", write: keyed, sizes: &[100, 1_000, 10_000] },
    Shape { name: "open key", write: open_key, sizes: &[100, 1_000, 10_000] },
    Shape { name: "one key", write: one_key, sizes: &[100, 1_000] },
    Shape { name: "conditions", write: conditions, sizes: &[100, 1_000, 10_000] },
    Shape { name: "replies", write: replies, sizes: &[100, 1_000, 10_000] },
    Shape { name: "capabilities", write: capabilities, sizes: &[100, 1_000, 10_000] },
    Shape { name: "groups", write: groups, sizes: &[30, 60] },
    Shape { name: "wide groups", write: wide_groups, sizes: &[20, 200] },
    Shape { name: "imports", write: imports, sizes: &[100, 1_000, 10_000] },
    Shape { name: "only", write: only, sizes: &[100, 1_000] },
    Shape { name: "misspelt", write: misspelt, sizes: &[200, 2_000, 20_000] },
];

impl Shape {
    /// The shape of a name.
    #[allow(dead_code, reason = "the bench looks for names, the tests take them in turn")]
    pub(crate) fn named(name: &str) -> Option<&'static Shape> {
        SHAPES.iter().find(|shape| shape.name == name)
    }

    /// The whole text at a size; nothing if the shape cannot stand like that.
    pub(crate) fn text(&self, size: usize, variant: Variant) -> Option<String> {
        let part = (self.write)(size);
        let head = match variant {
            Variant::Compatible => "client C compatible\nserver S = dual C\n",
            Variant::Written => "client C compatible\n",
            Variant::Dual | Variant::Twice => "client C\nserver S = dual C\n",
        };
        match variant {
            Variant::Twice if part.once => None,
            Variant::Twice => {
                let (one, other) = (part.named("a"), part.named("b"));
                Some(format!("{head}{}{}C = ( {}, {} )\n", one.items, other.items, one.body, other.body))
            }
            _ => {
                let part = part.named("");
                // What belongs to other files stands last.
                let (items, others) = match part.items.find("-- in ") {
                    Some(at) => part.items.split_at(at),
                    None => (part.items.as_str(), ""),
                };
                let client = format!("{head}{items}C = {}\n", part.body);
                let server = match variant {
                    Variant::Written => written_dual(&format!("{client}{others}"))?,
                    _ => String::new(),
                };
                Some(format!("{client}{server}{others}"))
            }
        }
    }
}

impl Part {
    fn named(&self, name: &str) -> Part {
        Part { items: self.items.replace('@', name), body: self.body.replace('@', name), once: self.once }
    }
}

/// The server that is the dual of the client of a text, written out; nothing if the client is not right.
fn written_dual(text: &str) -> Option<String> {
    let files = files(text);
    let mut read = |path: &Path| {
        let found = path.to_str().and_then(|path| files.get(path));
        found.cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    let answer = dual::dual(Path::new("main.session"), &mut read, Some("C")).ok()?;
    answer.text.ok()
}

/// The files of a text: what stands below a line `-- in NAME:` is the file of that name.
pub(crate) fn files(text: &str) -> HashMap<String, Vec<u8>> {
    let mut files = HashMap::new();
    let mut name = "main.session";
    let mut from = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(next) = line.trim_end().strip_prefix("-- in ").and_then(|line| line.strip_suffix(':')) {
            files.insert(name.to_owned(), text.as_bytes().get(from..at).unwrap_or_default().to_vec());
            (name, from) = (next, at + line.len());
        }
        at += line.len();
    }
    files.insert(name.to_owned(), text.as_bytes().get(from..).unwrap_or_default().to_vec());
    files
}

/// Lines, one for each number.
fn lines(count: usize, mut line: impl FnMut(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{}", line(number));
        text
    })
}

/// The same, without line ends.
fn many(count: usize, mut one: impl FnMut(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        text.push_str(&one(number));
        text
    })
}

fn notifications(count: usize) -> String {
    lines(count, |number| format!("notification M@{number} \"m/@{number}\" (String)"))
}

fn requests(count: usize) -> String {
    lines(count, |number| format!("request R@{number} \"r/@{number}\" (String) -> Q@{number} (String)"))
}

fn part(items: String, body: String) -> Part {
    Part { items, body, once: false }
}

/// `!` and `?` in turn.
fn sign(number: usize) -> char {
    if number.is_multiple_of(2) { '!' } else { '?' }
}

/// `!M0 . ?M1 . !M2 . …`
fn chain(size: usize) -> Part {
    part(notifications(4), many(size, |at| format!("{}M@{} . ", sign(at), at % 4)) + "End")
}

/// Requests and their replies, in turn.
fn calls(size: usize) -> Part {
    part(requests(4), many(size, |at| format!("!R@{} . ?Q@{} . ", at % 4, at % 4)) + "End")
}

/// A chain in which every step is a definition.
fn definitions(size: usize) -> Part {
    let steps = lines(size, |at| format!("D@{at} = !M@{} . D@{}", at % 4, at + 1));
    part(format!("{}{steps}D@{size} = End\n", notifications(4)), "D@0".to_owned())
}

/// A stream whose first steps are unrolled.
fn streaming(size: usize) -> Part {
    let body = many(size, |_| "!M@0 . ?M@1 . ".to_owned());
    part(notifications(4), body + "rec x . ( !M@0 . ?M@1 . x ⊕ !M@2 . End )")
}

/// One choice of many branches.
fn choice(size: usize) -> Part {
    part(notifications(size), format!("rec x . ( {}End )", many(size, |at| format!("!M@{at} . x ⊕ "))))
}

/// Half of the messages each way, all of which change nothing, and one step out.
fn mixed(size: usize) -> Part {
    let loops = many(size, |at| format!("{}M@{at} . x ⊕ ", sign(at)));
    part(notifications(size + 1), format!("rec x . ( {loops}!M@{size} . End )"))
}

/// As before, but half of what is sent and received leads to a step of its own and back.
fn mixed_steps(size: usize) -> Part {
    let branches = many(size, |at| match at % 4 {
        0 => format!("!M@{at} . x ⊕ "),
        1 => format!("?M@{at} . x ⊕ "),
        _ => format!("!M@{at} . ?Back@{at} . x ⊕ "),
    });
    let back = lines(size, |at| format!("notification Back@{at} \"back/@{at}\""));
    part(notifications(size) + &back, format!("rec x . ( {branches}End )"))
}

/// States in a row, each with a message of its own each way that changes nothing.
fn mixed_chain(size: usize) -> Part {
    let steps = lines(size, |at| {
        format!("D@{at} = !M@{} . D@{at} ⊕ ?M@{} . D@{at} ⊕ !Step@ . D@{}", 2 * at, 2 * at + 1, at + 1)
    });
    let items = notifications(2 * size) + &steps + &format!("D@{size} = End\nnotification Step@ \"step@\"\n");
    part(items, "D@0".to_owned())
}

/// The same in one another, and each way out leads to the start.
fn mixed_nest(size: usize) -> Part {
    let open = many(size, |at| {
        format!("rec x{at} . ( !M@{} . x{at} ⊕ ?M@{} . x{at} ⊕ !Step@ . ", 2 * at, 2 * at + 1)
    });
    let items = notifications(2 * size) + "notification Step@ \"step@\"\nnotification Back@ \"back@\"\n";
    part(items, format!("{open}?Back@ . x0{}", " )".repeat(size)))
}

/// Choices in choices, four branches each, no two alike.
fn nested(level: usize) -> Part {
    fn choice(level: usize, leaf: &mut usize) -> String {
        if level == 0 {
            *leaf += 1;
            return format!("!M@{} . !M@{} . End", *leaf % 5, *leaf % 7);
        }
        let (sign, operator) = if level.is_multiple_of(2) { ('!', " ⊕ ") } else { ('?', " & ") };
        let branches: Vec<String> =
            (0..4).map(|branch| format!("{sign}M@{branch} . ({})", choice(level - 1, leaf))).collect();
        branches.join(operator)
    }
    part(notifications(8), format!("( {} )", choice(level, &mut 0)))
}

/// A tree of choices, with leaves that differ so that it stays a tree.
fn tree(depth: usize) -> Part {
    fn branch(depth: usize, leaf: &mut usize) -> String {
        if depth == 0 {
            *leaf += 1;
            let digits =
                [*leaf % 8, (*leaf / 8) % 8, (*leaf / 64) % 8, (*leaf / 512) % 8, (*leaf / 4096) % 8];
            return many(5, |at| format!("!M@{} . ", digits.get(at).copied().unwrap_or_default())) + "End";
        }
        format!("!M@0 . ({}) ⊕ !M@1 . ({})", branch(depth - 1, leaf), branch(depth - 1, leaf))
    }
    part(notifications(8), format!("( {} )", branch(depth, &mut 0)))
}

/// Loops in one another, each with a way back to every one around it.
fn recursion(size: usize) -> Part {
    let open = many(size, |at| {
        format!("rec x{at} . !M@{at} . ( {}", many(at + 1, |outer| format!("!M@{outer} . x{outer} ⊕ ")))
    });
    part(notifications(size + 1), format!("{open}!M@{size} . End{}", " )".repeat(size)))
}

/// Many `*` side by side, each a request and its reply.
fn sub_sessions(size: usize) -> Part {
    let bodies = many(size, |at| format!("*( {}R@{at} . {}Q@{at} . End ), ", sign(at), sign(at + 1)));
    Part { items: requests(size), body: format!("( {bodies}rec x . !M@0 . x )"), once: false }
        .with(&notifications(1))
}

/// A channel of steps, each of which starts a further `*`.
fn sub_sessions_on_the_way(size: usize) -> Part {
    let steps =
        lines(size, |at| format!("D@{at} = !M@{at} . ( *( !R@{at} . ?Q@{at} . End ), D@{} )", at + 1));
    part(notifications(size) + &requests(size) + &steps + &format!("D@{size} = End\n"), "D@0".to_owned())
}

/// Linear channels side by side.
fn channels(size: usize) -> Part {
    let parts = many(size, |at| format!("rec x . ( !M@{at} . ?N@{at} . x ⊕ End ), "));
    let others = lines(size, |at| format!("notification N@{at} \"n/@{at}\""));
    part(notifications(size) + &others, format!("( {parts}rec x . ?Last@ . x )"))
        .with("notification Last@ \"last@\"\n")
}

/// Linear channels side by side, each with a request that may be cancelled.
fn cancellable(size: usize) -> Part {
    let requests =
        lines(size, |at| format!("request R@{at} \"r/@{at}\" (String) -> Q@{at} (String) cancellable"));
    let parts: Vec<String> = (0..size).map(|at| format!("rec x . ( !R@{at} . ?Q@{at} . x ⊕ End )")).collect();
    let mut cancellable = part(requests, format!("( {} )", parts.join(", ")));
    cancellable.items += "notification Cancel \"cancel\" (String) cancels requestId\n";
    cancellable.once = true;
    cancellable
}

/// Requests that are asked one after the other and answered in any order: each set of them is a state.
fn open(size: usize) -> Part {
    let asked = many(size, |at| format!("!R@{at} . "));
    part(open_items(size), format!("{asked}rec x . ?Any@ . x"))
}

fn open_items(size: usize) -> String {
    let answers = many(size, |at| format!(" | Q@{at} | R@{at}Error"));
    requests(size) + &format!("notification More@ \"more@\" (String)\ngroup Any@ = More@{answers}\n")
}

/// The same in the sub-sessions of a `*`.
fn open_in_sub_session(size: usize) -> Part {
    let asked = many(size, |at| format!("!R@{at} . "));
    let keys = many(size, |at| format!(" | R@{at}.k"));
    let items = open_items(size)
        + "notification Open@ \"open@\" (String)\n"
        + &format!("key k@ = Open@.k | More@.k{keys}\nB@ = !Open@ . {asked}rec x . ?Any@ . x\n");
    part(items, "*B@".to_owned())
}

/// As `open`, but each branch leads to a state in which its own request is not open any more.
fn open_mistaken(size: usize) -> Part {
    let asked = many(size, |at| format!("!R@{at} . "));
    let answered: Vec<String> = (0..size).map(|at| format!("?Q@{at} . x")).collect();
    part(requests(size), format!("{asked}rec x . ( {} )", answered.join(" & ")))
}

/// Requests in one another, answered inside out. Refusals are written, as they would undo the rest.
fn open_nested(size: usize) -> Part {
    let asked = many(size, |at| format!("!R@{at} . "));
    let answered = many(size, |at| {
        let at = size - 1 - at;
        format!("( ?Q@{at} . n@{at} & ?R@{at}Error . n@{at} )\nn@{at} = ")
    });
    // Each answer is a definition, for they would nest.
    let first = format!("n@{size} = ");
    part(requests(size) + &first + &answered + "End\n", format!("{asked}n@{size}"))
}

/// A sub-session with so many steps, which a key ties to it.
fn keyed(size: usize) -> Part {
    let keys = many(size, |at| format!(" | M@{at}.k"));
    let steps = many(size, |at| format!("!M@{at} . "));
    let items = notifications(size)
        + "request Watch@ \"watch@\" (String) -> Watching@\n"
        + &format!("key k@ = Watch@.k{keys}\nB@ = !Watch@ . ?Watching@ . {steps}End\n");
    part(items, "*B@".to_owned())
}

/// The same, and each step may be uncorrelated.
fn open_key(size: usize) -> Part {
    let mut keyed = keyed(size);
    keyed.items = keyed.items.replace("key k@", "open key k@");
    keyed
}

/// Sub-sessions of many definitions with one open key.
fn one_key(size: usize) -> Part {
    let keys = many(size, |at| format!(" | M@{at}.k | W@{at}.k"));
    let bodies =
        lines(size, |at| format!("B@{at} = !W@{at} . ?V@{at} . rec x . ( !M@{at} . x ⊕ !M@{at}e . End )"));
    let ends = lines(size, |at| format!("notification M@{at}e \"e/@{at}\" (String)"));
    let watches = lines(size, |at| format!("request W@{at} \"w/@{at}\" (String) -> V@{at}"));
    let end_keys = many(size, |at| format!(" | M@{at}e.k"));
    let items = notifications(size)
        + &ends
        + &watches
        + &format!("notification Last@ \"last@\" (String)\nopen key k@ = Last@.k{keys}{end_keys}\n{bodies}");
    let all = many(size, |at| format!("*B@{at}, "));
    part(items, format!("( {all}*( !Last@ . End ) )"))
}

/// One method with many messages that conditions tell apart.
fn conditions(size: usize) -> Part {
    let items = lines(size, |at| format!("notification M@{at} \"m@\" if kind = \"{at}\" (String)"));
    part(items, format!("rec x . ( {}End )", many(size, |at| format!("!M@{at} . x ⊕ "))))
}

/// One request with many replies.
fn replies(size: usize) -> Part {
    let all: Vec<String> = (0..size).map(|at| format!("Q@{at} (String) if kind = \"{at}\"")).collect();
    part(
        format!("request R@ \"r@\" (String) -> {}\n", all.join(" | ")),
        "rec x . ( !R@ . ?reply . x ⊕ End )".to_owned(),
    )
}

/// Messages that need a capability each.
fn capabilities(size: usize) -> Part {
    let items =
        lines(size, |at| format!("notification M{at} \"m/{at}\" (String) requires server.c{at}.part"));
    let items =
        items + "request Hello \"hello\" (String) -> Welcome (String)\ncapabilities server = Welcome.can\n";
    let all = many(size, |at| format!("*( !M{at} . End ), "));
    let mut part =
        part(items, format!("!Hello . ?Welcome . ( {all}rec x . ( !Hello . ?Welcome . x ⊕ End ) )"));
    part.once = true;
    part
}

/// Groups in one another.
fn groups(size: usize) -> Part {
    let groups = lines(size, |at| format!("group G@{} = G@{at} | M@{at}", at + 1));
    part(
        notifications(size + 1) + &format!("group G@0 = M@{size}\n{groups}"),
        format!("rec x . ( !G@{size} . x ⊕ End )"),
    )
}

/// Groups of many messages, some in two others.
fn wide_groups(size: usize) -> Part {
    let groups = lines(size, |at| {
        let members: Vec<String> = (0..20).map(|member| format!("M@{}", 20 * at + member)).collect();
        format!("group G@{at} = {}\ngroup H@{at} = G@{at} | G@{}", members.join(" | "), (at + 1) % size)
    });
    part(
        notifications(20 * size) + &groups,
        format!("rec x . ( {}End )", many(size / 2, |at| format!("!H@{} . x ⊕ ", 2 * at))),
    )
}

/// A chain of files, each of which imports the next and declares a message and a step.
fn imports(size: usize) -> Part {
    let mut part = part("import \"f1.session\"\n".to_owned(), "D1".to_owned());
    for at in 1..=size {
        let import = if at == size { String::new() } else { format!("import \"f{}.session\"\n", at + 1) };
        let next = if at == size { "End".to_owned() } else { format!("D{}", at + 1) };
        let _ = write!(
            part.items,
            "-- in f{at}.session:\n{import}notification M{at} \"m/{at}\" (String)\nD{at} = !M{at} . {next}\n"
        );
    }
    part.once = true;
    part
}

/// States in which sub-sessions are suspended.
fn only(size: usize) -> Part {
    let steps = many(size, |at| format!("{}M{} . ", sign(at), at % 4));
    let watch = "request Watch \"watch\" (String) -> Watching\nnotification Say \"say\" (String)\n\
                 notification Stop \"stop\" (String)\n\
                 key k = Watch.k | Say.k | Stop.k\nB = !Watch . ?Watching . rec x . ( !Say . x ⊕ !Stop . End )\n";
    let mut part =
        part(notifications(4) + watch + &format!("Last only = {steps}End\n"), "*B ⊕ !M0 . Last".to_owned());
    part.once = true;
    part
}

/// Names that are all almost right.
fn misspelt(size: usize) -> Part {
    part(notifications(size), format!("rec x . ( {}End )", many(size, |at| format!("!M@{at}x . x ⊕ "))))
}

impl Part {
    fn with(mut self, items: &str) -> Part {
        self.items.push_str(items);
        self
    }
}
