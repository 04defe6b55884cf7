//! Signs of grammars behind a parenthesis: `( … )*`, `( … )+`, `( … )?`.

use super::codes::MALFORMED_CHOICE;
use super::cursor::Parser;
use super::session::OpenEnd;
use crate::ast::{Choice, Operator, Tail};
use crate::diagnostic::{Diagnostic, Edit, shorten};
use crate::lexer::Kind;
use crate::source::Span;

impl Parser<'_> {
    /// Whether a sign that repeats or leaves out stands so many tokens ahead, right behind what ends at `before`.
    fn sign_at(&self, ahead: usize, before: u32) -> bool {
        let (sign, next) = (self.token_at(ahead), self.token_at(ahead + 1));
        // In `Talking *( … )` a comma is missing, and in `!Tip ?News` a dot.
        let begins = |kinds: &[Kind]| kinds.contains(&next.kind) && !next.starts_line;
        sign.start == before
            && match sign.kind {
                Kind::Question => !begins(&[Kind::Word]),
                Kind::Star => !begins(&[Kind::Word, Kind::Open]),
                Kind::Plus => true,
                _ => false,
            }
    }

    /// Whether a sign that repeats or leaves out stands here, right behind `before`.
    pub(super) fn at_sign_behind(&self, before: Span) -> bool {
        self.sign_at(0, before.end)
    }

    /// Whether a sign that repeats or leaves out stands right behind the bracket before the token so many ahead.
    pub(super) fn repeats_brackets(&self, ahead: usize) -> bool {
        let close = ahead.checked_sub(1).map(|close| self.token_at(close).end);
        close.is_some_and(|close| self.sign_at(ahead, close))
    }

    /// Takes a sign behind a parenthesis, and what follows it; returns whether it did.
    pub(super) fn sign_behind_group(&mut self, tail: &Tail) -> bool {
        let (Tail::Group(_, all) | Tail::Parallel(_, all)) = tail else { return false };
        if !self.at_sign_behind(*all) {
            return false;
        }
        let (index, kind, found) = (self.index(), self.kind(), self.found());
        let sign = self.bump();
        let finding = Diagnostic::error(MALFORMED_CHOICE, sign, format!("{found} behind a parenthesis"));
        let rest = self.behind_sign();
        let in_front = "write it in front, `*( … )`, for any number at once";
        let finding = match tail {
            Tail::Group(body, _) => {
                let finding = match rest {
                    None if kind != Kind::Question => {
                        let edits = self.unended(body).map(|place| Edit::after(place, " . End"));
                        finding.suggest(in_front, edits.chain([Edit::before(*all, "*"), Edit::delete(sign)]))
                    }
                    _ => finding,
                };
                match rest {
                    None if kind == Kind::Star => finding,
                    _ => self.written_out(finding, kind, body, (*all, rest.unwrap_or(sign.after()))),
                }
            }
            _ => finding.suggest(in_front, [Edit::before(*all, "*"), Edit::delete(sign)]),
        };
        self.report_at(index, finding);
        true
    }

    /// Behind what the `End` is missing at the ends of branches.
    fn unended(&mut self, body: &Choice) -> impl Iterator<Item = Span> + use<> {
        let mut ends = Vec::new();
        self.open_ends(body, &mut ends);
        ends.into_iter().filter_map(|end| match end {
            OpenEnd::Behind(place) => Some(place),
            OpenEnd::End(_) => None,
        })
    }

    /// Takes what follows the sign behind a parenthesis, and its dot.
    fn behind_sign(&mut self) -> Option<Span> {
        let dot = self.eat(Kind::Dot)?;
        if self.at_end_of_term() || !self.enter(dot) {
            return Some(self.previous().after());
        }
        let lenient = std::mem::replace(&mut self.lenient, true);
        let rest = self.sequence();
        self.lenient = lenient;
        self.depth -= 1;
        Some(rest.span)
    }

    /// Suggests the loop, or for `?` the choice, that a parenthesis with a sign behind it and `rest` stand for.
    fn written_out(
        &mut self,
        finding: Diagnostic,
        kind: Kind,
        body: &Choice,
        (all, rest): (Span, Span),
    ) -> Diagnostic {
        let mut ends = Vec::new();
        let known = self.open_ends(body, &mut ends);
        let again = ["again", "more", "repeated"]
            .into_iter()
            .find(|name| !self.is_bound(name) && !self.is_defined(name));
        let (Some(again), true) = (again, known) else {
            let help = match kind {
                Kind::Question => "what may happen or not is a choice, `A ⊕ B`",
                _ => "a loop is written `rec again . ( … )`, with `again` where it starts again",
            };
            return finding.help(help);
        };
        let rest_of_type = match self.sources.slice(rest) {
            "" => "End".to_owned(),
            written if written.ends_with("End") || !written.contains(['!', '?']) => written.to_owned(),
            written => format!("{written} . End"),
        };
        let first = body.branches.first().and_then(|branch| branch.actions.first());
        let sign = match body.operators.first() {
            Some((Operator::Internal, _)) => "⊕",
            Some((Operator::External, _)) => "&",
            None if first.is_none_or(|first| first.send) => "⊕",
            None => "&",
        };
        let (before, onwards) = match kind {
            Kind::Question => (String::new(), rest_of_type.clone()),
            Kind::Star => (format!("rec {again} . "), again.to_owned()),
            _ => (format!("rec {again} . "), format!("( {again} {sign} {rest_of_type} )")),
        };
        let steps = self.going_on(all, ends, &onwards);
        let steps = match kind {
            Kind::Plus => steps,
            _ => format!("{} {sign} {rest_of_type} )", steps.strip_suffix(')').unwrap_or(&steps).trim_end()),
        };
        let text = format!("{before}{steps}");
        let when = match kind {
            Kind::Question => "where the step may be left out",
            _ => "for one after the other",
        };
        let help = format!("write `{}` {when}", shorten(&text));
        finding.suggest(help, [Edit::replace(all.to(rest), text)])
    }

    /// The text of a parenthesis whose branches go on with `onwards`.
    fn going_on(&self, all: Span, ends: Vec<OpenEnd>, onwards: &str) -> String {
        let mut text = String::new();
        let mut at = all.start;
        for end in ends {
            let (until, dot, behind) = match end {
                OpenEnd::Behind(place) => (place.end, " . ", place.end),
                OpenEnd::End(place) => (place.start, "", place.end),
            };
            text.push_str(self.sources.slice(Span { start: at, end: until, ..all }));
            text.push_str(dot);
            text.push_str(onwards);
            at = behind;
        }
        text.push_str(self.sources.slice(Span { start: at, ..all }));
        text
    }
}
