//! The walk over session types, with the loops around each name.

use super::collect::Collector;
use super::symbol::{Declaration, SymbolKind};
use crate::ast::{Choice, Tail};

impl Collector<'_> {
    /// The names in a session type.
    pub(super) fn session(&mut self, body: &Choice) {
        self.choice(body, &mut Vec::new());
    }

    /// `loops` are the variables in scope, the innermost last. The parser bounds how deep types may be nested.
    fn choice<'t>(&mut self, choice: &'t Choice, loops: &mut Vec<(&'t str, usize)>) {
        for branch in &choice.branches {
            for action in &branch.actions {
                if action.message.text != "reply" {
                    self.message(&action.message);
                }
            }
            self.tail(&branch.tail, loops);
        }
    }

    fn tail<'t>(&mut self, tail: &'t Tail, loops: &mut Vec<(&'t str, usize)>) {
        match tail {
            Tail::Name(name) | Tail::Dual { name, .. } => {
                match loops.iter().rev().find(|(variable, _)| *variable == name.text) {
                    Some((_, symbol)) => self.used_at(*symbol, name, name.span),
                    None => self.used(SymbolKind::Definition, name),
                }
            }
            Tail::Recursion { variable, body, span, .. } => {
                let symbol = self.new_symbol(SymbolKind::Loop, variable);
                let declaration =
                    Declaration { name: variable.span, item: span.to(body.span), documentation: Vec::new() };
                self.declared_at(symbol, SymbolKind::Loop, variable, declaration);
                loops.push((&variable.text, symbol));
                self.choice(body, loops);
                loops.pop();
            }
            Tail::Group(body, _) => self.choice(body, loops),
            Tail::Parallel(parts, _) => parts.iter().for_each(|part| self.choice(part, loops)),
            Tail::Replicated(body, _) => self.tail(body, loops),
            Tail::End(_) | Tail::Missing(_) => {}
        }
    }
}
