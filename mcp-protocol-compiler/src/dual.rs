//! The dual of a session type as text: what the other role would write.
//!
//! The definitions belong to the other role, `Server::Name = …`, so that they can stand in the same file: for that
//! role a name means its own definition first, and `dual Name` is then what it was before.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::Path;

use mcp_protocol_machine::protocol::Side;

use crate::ast::{
    Choice, File, Item, ItemKind, Level, LevelDirection, Name, OnlyMark, Operator, RoleSide, Sequence, Tail,
};
use crate::declarations::Resolution;
use crate::diagnostic::Diagnostic;
use crate::format::file;
use crate::resolve::{self, load};
use crate::source::{SourceMap, Span};

/// Why a role has no dual.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undefined {
    /// The file has no session type at all.
    Nothing,
    /// No role and no definition has this name; these are the names there are.
    Unknown(String, Vec<String>),
    /// The first is written as the dual of the second, which so is the dual of the first.
    Already(String, String),
}

/// What [`dual`] gives.
#[derive(Debug)]
#[non_exhaustive]
pub struct Answer {
    /// Every file that was read.
    pub sources: SourceMap,
    /// What is wrong with names and declarations; with an error among them the meaning of the file is unknown.
    pub diagnostics: Vec<Diagnostic>,
    /// The definitions of the dual, in the canonical layout.
    pub text: Result<String, Undefined>,
}

/// The dual of a role or a definition; without a name, of the first role whose type is not the dual of the other.
///
/// ```
/// # use std::{io, path::Path};
/// let text = "client Teller\nserver Counter = dual Teller\nTeller = !Add . ?Sum . End\n";
/// let mut read = |_: &Path| -> io::Result<Vec<u8>> { Ok(text.as_bytes().to_vec()) };
/// let answer = mcp_protocol_compiler::dual::dual(Path::new("counter.session"), &mut read, Some("Teller"))?;
/// assert_eq!(answer.text.unwrap(), "server Counter\n\nCounter = ?Add . !Sum . End\n");
/// # Ok::<(), io::Error>(())
/// ```
///
/// # Errors
/// If the first file cannot be read.
pub fn dual(
    entry: &Path,
    read: &mut dyn FnMut(&Path) -> io::Result<Vec<u8>>,
    name: Option<&str>,
) -> io::Result<Answer> {
    let mut sources = SourceMap::new();
    let mut diagnostics = Vec::new();
    let files = load::load(entry, read, &mut sources, &mut diagnostics)?;
    let resolution = resolve::resolve(&files, &mut diagnostics);
    let text = of(&resolution, name).map(|items| file(&items));
    Ok(Answer { sources, diagnostics, text })
}

fn of(resolution: &Resolution, name: Option<&str>) -> Result<File, Undefined> {
    let start = match name {
        Some(name) => name,
        None => first(resolution).ok_or(Undefined::Nothing)?,
    };
    let role = resolution.role_named(start);
    let declared = resolution.definitions.iter().find(|definition| definition.name.text == start);
    let fallback = resolution.roles.first().map_or(Side::Client, |role| role.side);
    let side = match (role, declared) {
        (Some(role), _) => role.side,
        (None, Some(definition)) => definition.side.unwrap_or(fallback),
        (None, None) => return Err(Undefined::Unknown(start.to_owned(), names(resolution))),
    };
    let other = resolution.role(side.other());
    let mut items = Vec::new();
    let owner = match (other, role) {
        (Some(other), _) => Some(other.name.text.clone()),
        // A role without a peer gets one.
        (None, Some(role)) => Some(format!("{}Peer", role.name.text)),
        (None, None) => None,
    };
    if let (Some(_), Some(owner)) = (role, &owner) {
        let side = if side == Side::Client { RoleSide::Server } else { RoleSide::Client };
        items.push(item(ItemKind::Role { side, name: named(owner), body: None, compatible: None }));
    }
    let own = resolution.role(side).map(|role| role.name.text.as_str());
    let other = other.map(|other| other.name.text.as_str());
    let mut flip =
        Flip { resolution, side, own, other, owner, reached: HashSet::new(), next: VecDeque::new() };
    flip.reach(start);
    while let Some(index) = flip.next.pop_front() {
        items.extend(flip.definition(index)?);
    }
    Ok(File { items, ..File::default() })
}

/// The first role that is not written as the dual of the other, or else the first definition.
fn first(resolution: &Resolution) -> Option<&str> {
    let written = resolution.roles.iter().find(|role| {
        resolution.definitions.iter().any(|definition| {
            definition.name.text == role.name.text
                && !matches!(
                    definition.body.branches.as_slice(),
                    [Sequence { actions, tail: Tail::Dual { .. }, .. }] if actions.is_empty()
                )
        })
    });
    let role = written.map(|role| role.name.text.as_str());
    role.or_else(|| resolution.definitions.first().map(|definition| definition.name.text.as_str()))
}

/// What has a dual here.
fn names(resolution: &Resolution) -> Vec<String> {
    let mut names: Vec<String> =
        resolution.definitions.iter().map(|definition| definition.name.text.clone()).collect();
    names.dedup();
    names
}

struct Flip<'a> {
    resolution: &'a Resolution,
    /// The side whose types are turned round.
    side: Side,
    /// Its role's name.
    own: Option<&'a str>,
    /// The other role's name.
    other: Option<&'a str>,
    /// To whom the result belongs.
    owner: Option<String>,
    /// The definitions that have been met.
    reached: HashSet<usize>,
    /// Those of them that have not been turned round.
    next: VecDeque<usize>,
}

impl<'a> Flip<'a> {
    /// Sees to it that what a name means is turned round, too.
    fn reach(&mut self, name: &str) {
        if let Some(index) = self.resolution.definition(name, self.side)
            && self.reached.insert(index)
        {
            self.next.push_back(index);
        }
    }

    fn definition(&mut self, index: usize) -> Result<Option<Item>, Undefined> {
        let resolution: &'a Resolution = self.resolution;
        let Some(definition) = resolution.definitions.get(index) else { return Ok(None) };
        let body = self.choice(&definition.body, &mut Vec::new())?;
        let is_role = self.own == Some(definition.name.text.as_str());
        let (role, name) = match &self.owner {
            Some(owner) if is_role => (None, named(owner)),
            Some(owner) => (Some(named(owner)), definition.name.clone()),
            None => (None, definition.name.clone()),
        };
        let levels = definition.levels.iter().map(level).collect();
        let only = definition.only.map(|only| OnlyMark { direction: only.direction.map(turned), ..only });
        Ok(Some(item(ItemKind::Definition { role, name, only, levels, body })))
    }

    fn choice(&mut self, choice: &'a Choice, variables: &mut Vec<&'a str>) -> Result<Choice, Undefined> {
        let branches: Result<Vec<Sequence>, Undefined> =
            choice.branches.iter().map(|branch| self.sequence(branch, variables)).collect();
        let operators = choice.operators.iter().map(|(operator, span)| {
            let other = match operator {
                Operator::Internal => Operator::External,
                Operator::External => Operator::Internal,
            };
            (other, *span)
        });
        Ok(Choice { branches: branches?, operators: operators.collect(), span: choice.span })
    }

    fn sequence(
        &mut self,
        sequence: &'a Sequence,
        variables: &mut Vec<&'a str>,
    ) -> Result<Sequence, Undefined> {
        let mut actions = sequence.actions.clone();
        for action in &mut actions {
            action.send = !action.send;
        }
        let tail = self.tail(&sequence.tail, variables)?;
        Ok(Sequence { actions, tail, span: sequence.span })
    }

    fn tail(&mut self, tail: &'a Tail, variables: &mut Vec<&'a str>) -> Result<Tail, Undefined> {
        Ok(match tail {
            Tail::End(_) | Tail::Missing(_) => tail.clone(),
            Tail::Name(name) if variables.contains(&name.text.as_str()) => tail.clone(),
            Tail::Name(name) => Tail::Name(self.name(name)?),
            Tail::Dual { name, span } => Tail::Dual { name: self.name(name)?, span: *span },
            Tail::Recursion { variable, body, parenthesised, span } => {
                variables.push(&variable.text);
                let body = self.choice(body, variables);
                variables.pop();
                Tail::Recursion {
                    variable: variable.clone(),
                    body: Box::new(body?),
                    parenthesised: *parenthesised,
                    span: *span,
                }
            }
            Tail::Group(body, span) => Tail::Group(Box::new(self.choice(body, variables)?), *span),
            Tail::Parallel(parts, span) => {
                let parts: Result<_, Undefined> =
                    parts.iter().map(|part| self.choice(part, variables)).collect();
                Tail::Parallel(parts?, *span)
            }
            Tail::Replicated(body, span) => Tail::Replicated(Box::new(self.tail(body, variables)?), *span),
        })
    }

    /// What a definition is called in the result.
    fn name(&mut self, name: &Name) -> Result<Name, Undefined> {
        let text = name.text.as_str();
        if self.other == Some(text) {
            return Err(Undefined::Already(self.own.unwrap_or_default().to_owned(), text.to_owned()));
        }
        self.reach(text);
        match &self.owner {
            Some(owner) if self.own == Some(text) => Ok(named(owner)),
            _ => Ok(name.clone()),
        }
    }
}

fn level(level: &Level) -> Level {
    Level { direction: level.direction.map(turned), ..level.clone() }
}

fn turned(direction: LevelDirection) -> LevelDirection {
    match direction {
        LevelDirection::Out => LevelDirection::In,
        LevelDirection::In => LevelDirection::Out,
    }
}

fn named(text: &str) -> Name {
    Name { text: text.to_owned(), span: Span::default() }
}

fn item(kind: ItemKind) -> Item {
    Item { documentation: Vec::new(), overrides: None, kind, span: Span::default() }
}
