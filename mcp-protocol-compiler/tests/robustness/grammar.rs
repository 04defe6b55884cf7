//! Builds random protocols from bytes, for fuzzing behind the parser.

use std::fmt::Write as _;

/// Messages of which there are enough to tell channels apart, and few enough to meet.
const MESSAGES: u8 = 6;
/// Definitions other than the roles.
const DEFINITIONS: u8 = 4;
/// How deep what is made here nests.
const DEEPEST: u8 = 5;

/// The files that some bytes stand for.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut choices = Choices { bytes: bytes.iter(), out: String::new() };
    choices.files();
    choices.out
}

struct Choices<'a> {
    bytes: std::slice::Iter<'a, u8>,
    out: String,
}

impl Choices<'_> {
    /// A number below `count`; 0 where there are no more bytes, so that everything ends.
    fn below(&mut self, count: u8) -> u8 {
        self.bytes.next().map_or(0, |byte| byte % count)
    }

    /// Yes, once in `count` times.
    fn rarely(&mut self, count: u8) -> bool {
        self.below(count) == count - 1
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn files(&mut self) {
        self.put("protocol Fuzz \"1\"\n");
        let imports = self.rarely(4);
        if imports {
            self.put("import \"base.session\"\n");
        }
        let undeclared = self.rarely(8);
        if !imports && !undeclared {
            self.messages();
        }
        match self.below(4) {
            3 => self.put(
                "capabilities client = R0.capabilities\n\
                 capabilities server = A0.capabilities open until announced\n",
            ),
            2 => self.put(
                "capabilities client = R0.capabilities default roots.list\n\
                 notification Gated \"gated\" requires client.roots.list if x\n",
            ),
            _ => {}
        }
        let compatible = if self.rarely(3) { " compatible" } else { "" };
        let _ = writeln!(self.out, "client C{compatible}");
        let dual = !self.rarely(4);
        self.put(if dual { "server S = dual C\n" } else { "server S\n" });
        self.definition("C");
        if !dual {
            self.definition("S");
        }
        for index in 0..DEFINITIONS {
            let name = format!("{}D{index}", if self.rarely(8) { "S::" } else { "" });
            self.definition(&name);
        }
        if imports {
            if self.rarely(2) {
                self.put("group G += N3\n");
            }
            if self.rarely(2) {
                self.put("override notification N1 \"other\"\n");
            }
            self.put("-- file: base.session\n");
            self.messages();
            self.definition("D0");
        }
    }

    fn messages(&mut self) {
        for index in 0..MESSAGES {
            let (payload, result) = (self.payload(), self.payload());
            let _ = write!(self.out, "request R{index} \"r{index}\"{payload} -> A{index}{result}");
            if self.rarely(8) {
                let _ = write!(self.out, " | B{index} if b");
            }
            self.modifiers(index);
            let payload = self.payload();
            let conditions = [" if x", " if x = 1", " if x = \"1\"", " if x = false", " if _ = -1"];
            let (method, condition) = if self.rarely(8) {
                (0, conditions[usize::from(index) % conditions.len()])
            } else {
                (index, "")
            };
            let _ = write!(self.out, "notification N{index} \"n{method}\"{condition}{payload}");
            self.modifiers(index);
        }
        self.put("notification Cancelled \"cancelled\" (_) cancels requestId\n");
        let (first, second) = (self.below(MESSAGES), self.below(MESSAGES));
        let _ = writeln!(self.out, "group G = R{first} | R{second} | N2\ngroup H = replies G");
        if self.rarely(2) {
            let open = if self.rarely(2) { "open " } else { "" };
            let _ = writeln!(self.out, "{open}key k = R{first}.k | N{second}.k | A1.k");
        }
    }

    fn payload(&mut self) -> &'static str {
        let all = ["", " (_)", " (Thing)", " (Thing?)", " (Vec<u8>)", " (null)", " ([string, ...int])"];
        all[usize::from(self.below(7))]
    }

    fn modifiers(&mut self, index: u8) {
        let _ = match self.below(12) {
            0 => writeln!(self.out, " cancellable"),
            1 => writeln!(self.out, " answered"),
            2 => writeln!(self.out, " requires server.tools"),
            3 => writeln!(self.out, " as call{index}"),
            4 => writeln!(self.out, " [should \"rule\"]"),
            5 => writeln!(self.out, " requires client.roots.list unless x"),
            6 => writeln!(self.out, " pages cursor from nextCursor"),
            7 => writeln!(self.out, " rounds A{index} s from s, answers of questions"),
            _ => writeln!(self.out),
        };
    }

    fn definition(&mut self, name: &str) {
        self.put(name);
        if self.rarely(8) {
            self.put(" only");
        }
        if self.rarely(8) {
            self.put(" [should \"rule\" out, must \"rule\" in error -32002]");
        }
        self.put(" = ");
        self.choice(0);
        self.put("\n");
    }

    fn choice(&mut self, depth: u8) {
        let operator = if self.rarely(2) { " & " } else { " ⊕ " };
        let branches = 1 + [0, 0, 1, 1, 2, 3][usize::from(self.below(6))];
        for index in 0..branches {
            if index > 0 {
                let other = self.rarely(16);
                self.put(if other { " (+) " } else { operator });
            }
            self.sequence(depth);
        }
    }

    fn sequence(&mut self, depth: u8) {
        for _ in 0..self.below(4) {
            let message = self.below(MESSAGES);
            let sign = if self.rarely(2) { '?' } else { '!' };
            let other = if sign == '!' { '?' } else { '!' };
            let _ = match self.below(12) {
                // A request goes with its reply, mostly.
                0..=4 => write!(self.out, "{sign}R{message} . {other}A{message} . "),
                5 => write!(self.out, "{sign}R{message} . {other}reply . "),
                6 => write!(self.out, "{sign}R{message} . "),
                7 => write!(self.out, "{sign}G . {other}reply . "),
                8 => write!(self.out, "{sign}A{message} . "),
                _ => write!(self.out, "{sign}N{message} . "),
            };
        }
        self.tail(depth);
    }

    fn tail(&mut self, depth: u8) {
        if depth >= DEEPEST {
            return self.put("End");
        }
        match self.below(12) {
            0..=2 => self.put("End"),
            3 | 4 => {
                let name = self.below(DEFINITIONS + 1);
                let _ = write!(self.out, "D{name}");
            }
            5 => {
                let name = self.below(DEFINITIONS);
                let _ = write!(self.out, "dual D{name}");
            }
            6 | 7 => {
                let _ = write!(self.out, "( rec x{depth} . ");
                self.choice(depth + 1);
                self.put(" )");
            }
            8 => {
                let variable = self.below(depth + 1);
                let _ = write!(self.out, "x{variable}");
            }
            9 => {
                self.put("( ");
                for _ in 0..1 + self.below(3) {
                    self.choice(depth + 1);
                    self.put(", ");
                }
                self.put("*( ");
                self.choice(depth + 1);
                self.put(" ) )");
            }
            10 => {
                self.put("*( ");
                self.choice(depth + 1);
                self.put(" )");
            }
            _ => {
                self.put("( ");
                self.choice(depth + 1);
                self.put(" )");
            }
        }
    }
}
