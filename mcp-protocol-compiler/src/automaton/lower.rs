//! Tree to graph: variables and definitions become edges back to what they stand for.

use std::collections::{HashMap, HashSet, VecDeque};

use mcp_protocol_machine::protocol::Side;

use super::finding::{Finding, FindingKind};
use super::graph::{ActionNode, Branch, Graph, Marked, Node, NodeId};
use crate::ast::{Choice, Name, Operator, Sequence, Tail};
use crate::declarations::{Resolution, Role};
use crate::diagnostic::limit::LIMIT;
use crate::findings::recursion;
use crate::source::Span;

/// From which side's point of view a piece of text is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PointOfView {
    /// Whose definitions `Name` may mean.
    side: Side,
    /// Whether the text is read from the other side: `dual`.
    flipped: bool,
}

/// What stands between a use and the start of the definition.
enum Binding<'a> {
    Variable(&'a Name, NodeId),
    /// A variable beyond this cannot be used.
    Barrier(BarrierAt<'a>),
}

/// `( , )` or `*`.
#[derive(Clone, Copy)]
struct BarrierAt<'a> {
    kind: recursion::Barrier,
    span: Span,
    /// What `*` repeats.
    body: Option<&'a Tail>,
    /// The operator that could stand for the comma.
    chooser: Option<Operator>,
}

struct Lowering<'a> {
    resolution: &'a Resolution,
    graph: Graph<'a>,
    findings: Vec<Finding>,
    definitions: HashMap<(usize, PointOfView), NodeId>,
    /// Definitions that are used and not yet lowered; a queue, so that a long chain of them does not recurse deeply.
    waiting: VecDeque<(usize, PointOfView, NodeId)>,
    /// The loops and what they cross, as far as that has been reported.
    crossed: HashSet<(Span, Span)>,
    /// How many messages were found that nothing declares.
    undefined: usize,
}

/// One role's session type as a graph.
pub(super) struct RoleGraph<'a> {
    pub(super) role: &'a Role,
    pub(super) graph: Graph<'a>,
    pub(super) start: NodeId,
    /// What is wrong with its text.
    pub(super) findings: Vec<Finding>,
    /// The definitions that it reaches.
    reached: HashSet<usize>,
}

/// Lowers one role.
pub(super) fn lower<'a>(resolution: &'a Resolution, role: &'a Role) -> RoleGraph<'a> {
    let mut lowering = Lowering::new(resolution);
    let start = lowering.named(&role.name, PointOfView { side: role.side, flipped: false }, false);
    lowering.run();
    let reached = lowering.definitions.keys().map(|(definition, _)| *definition).collect();
    RoleGraph { role, graph: lowering.graph, start, findings: lowering.findings, reached }
}

/// Looks at the definitions that none of these roles reaches, and warns about them.
pub(super) fn unreached<'a>(resolution: &Resolution, roles: &[&RoleGraph<'a>]) -> Vec<Finding> {
    let unreached = || {
        let definitions = resolution.definitions.iter().enumerate();
        definitions.filter(|(index, _)| !roles.iter().any(|role| role.reached.contains(index)))
    };
    // One lowering for all of them: what several share is looked at once.
    let mut lowering = Lowering::new(resolution);
    for (index, definition) in unreached() {
        lowering
            .definition(index, PointOfView { side: definition.side.unwrap_or(Side::Client), flipped: false });
    }
    lowering.run();
    let mut found = lowering.findings;
    if !resolution.roles.is_empty() {
        let own = unreached().filter(|(_, definition)| !definition.imported);
        found.extend(own.map(|(_, definition)| {
            FindingKind::UnusedDefinition(definition.name.clone()).at(definition.name.span)
        }));
    }
    found
}

impl<'a> Lowering<'a> {
    fn new(resolution: &'a Resolution) -> Self {
        Lowering {
            resolution,
            graph: Graph::default(),
            findings: Vec::new(),
            definitions: HashMap::new(),
            waiting: VecDeque::new(),
            crossed: HashSet::new(),
            undefined: 0,
        }
    }

    fn run(&mut self) {
        while let Some((index, view, node)) = self.waiting.pop_front() {
            let resolution = self.resolution;
            if let Some(definition) = resolution.definitions.get(index) {
                let first = self.graph.len();
                let body = self.choice(&definition.body, view, &mut Vec::new());
                if definition.only.is_some() {
                    self.graph.only_since(first, Marked { definition: index, flipped: view.flipped });
                }
                self.graph.set(node, Node::Reference(body));
            }
        }
    }

    fn definition(&mut self, index: usize, view: PointOfView) -> NodeId {
        *self.definitions.entry((index, view)).or_insert_with(|| {
            let node = self.graph.add(Node::Pending);
            self.graph.name(node, index, view.flipped);
            self.waiting.push_back((index, view, node));
            node
        })
    }

    /// A name that is not a variable.
    fn named(&mut self, name: &Name, view: PointOfView, dual: bool) -> NodeId {
        // A role's type is read with that role's definitions, from either side.
        let role = self.resolution.role_named(&name.text);
        let side = role.map_or(view.side, |role| role.side);
        match self.resolution.definition(&name.text, side) {
            Some(index) => self.definition(index, PointOfView { side, flipped: view.flipped != dual }),
            None => {
                // A role without a type has been reported where the role is declared.
                if role.is_none() {
                    let other = self.resolution.role(view.side.other()).filter(|_| dual);
                    let other_role = other.map(|other| other.name.text.clone());
                    let name = name.clone();
                    let at = name.span;
                    self.findings.push(
                        FindingKind::UndefinedDefinition {
                            name,
                            variables: None,
                            other_role,
                            replicated: false,
                        }
                        .at(at),
                    );
                }
                self.graph.add(Node::Broken)
            }
        }
    }

    fn choice(&mut self, choice: &'a Choice, view: PointOfView, scope: &mut Vec<Binding<'a>>) -> NodeId {
        if let Some((first, rest)) = choice.operators.split_first()
            && let Some(other) = rest.iter().find(|other| other.0 != first.0)
        {
            self.findings.push(FindingKind::TwoOperators { first: *first }.at(other.1));
        }
        let branches: Vec<Branch<'a>> =
            choice.branches.iter().map(|branch| self.sequence(branch, view, scope)).collect();
        if branches.len() == 1
            && let Some(Branch::Other(node, _)) = branches.first()
        {
            return *node;
        }
        let operator = choice.operators.first().map(|(operator, _)| match (operator, view.flipped) {
            (Operator::Internal, false) | (Operator::External, true) => Operator::Internal,
            (Operator::Internal, true) | (Operator::External, false) => Operator::External,
        });
        self.graph.add_choice(branches, operator, choice.span)
    }

    fn sequence(
        &mut self,
        sequence: &'a Sequence,
        view: PointOfView,
        scope: &mut Vec<Binding<'a>>,
    ) -> Branch<'a> {
        for action in &sequence.actions {
            self.message(&action.message);
        }
        let mut next = self.tail(&sequence.tail, view, scope);
        let Some((first, rest)) = sequence.actions.split_first() else {
            return Branch::Other(next, sequence.span);
        };
        let action = |action, next| Branch::Action(ActionNode::new(action, view.flipped, next));
        for step in rest.iter().rev() {
            next = self.graph.add_choice([action(step, next)], None, step.span);
        }
        action(first, next)
    }

    /// Reports a message that nothing declares. What lies behind it is not explored, and would be found out only when
    /// it is mended.
    fn message(&mut self, name: &Name) {
        let known = name.text == "reply" || self.resolution.names.contains_key(&name.text);
        if !known && self.undefined < LIMIT {
            self.undefined += 1;
            self.findings.push(FindingKind::UndefinedMessage(name.clone()).at(name.span));
        }
    }

    fn tail(&mut self, tail: &'a Tail, view: PointOfView, scope: &mut Vec<Binding<'a>>) -> NodeId {
        match tail {
            Tail::End(span) => self.graph.add(Node::End(*span)),
            Tail::Missing(_) => self.graph.add(Node::Broken),
            Tail::Name(name) => self.variable_or_definition(name, view, scope),
            Tail::Dual { name, span } => {
                if variable(scope, &name.text).is_some() {
                    self.findings.push(FindingKind::DualOfVariable(name.text.clone()).at(*span));
                    return self.graph.add(Node::Broken);
                }
                self.named(name, view, true)
            }
            Tail::Recursion { variable, body, parenthesised, .. } => {
                if never_starts_again(variable, body) {
                    let ends = ends_of(body);
                    let never = FindingKind::NeverAgain { variable: variable.clone(), ends };
                    self.findings.push(never.at(variable.span));
                } else if !parenthesised {
                    self.branches_of_the_loop(variable, body);
                }
                let node = self.graph.add(Node::Pending);
                self.graph.bind(node, variable.clone());
                scope.push(Binding::Variable(variable, node));
                let body = self.choice(body, view, scope);
                scope.pop();
                self.graph.set(node, Node::Reference(body));
                node
            }
            Tail::Group(choice, _) => self.choice(choice, view, scope),
            Tail::Parallel(parts, span) => {
                let chooser = Choice::chooser(parts);
                scope.push(Binding::Barrier(BarrierAt {
                    kind: recursion::Barrier::Parallel,
                    span: *span,
                    body: None,
                    chooser,
                }));
                let parts = parts.iter().map(|part| self.choice(part, view, scope)).collect();
                scope.pop();
                self.graph.add(Node::Parallel(parts, *span))
            }
            Tail::Replicated(body, span) => {
                let kind = recursion::Barrier::Replicated;
                scope.push(Binding::Barrier(BarrierAt {
                    kind,
                    span: *span,
                    body: Some(body),
                    chooser: None,
                }));
                let body = self.tail(body, view, scope);
                scope.pop();
                self.graph.add(Node::Replicated(body, *span))
            }
        }
    }

    fn variable_or_definition(&mut self, name: &'a Name, view: PointOfView, scope: &[Binding<'a>]) -> NodeId {
        match variable(scope, &name.text) {
            Some(Bound { node, barrier: None, .. }) => node,
            Some(Bound { name: bound, barrier: Some(BarrierAt { kind, span, body, chooser }), .. }) => {
                if self.crossed.insert((bound.span, span)) {
                    let ends = body.and_then(|body| ends(body, &name.text)).unwrap_or_default();
                    let (name, at) = (name.clone(), name.span);
                    let (bound, barrier, barrier_at) = (bound.span, kind, span);
                    let across = FindingKind::Across { name, bound, barrier, barrier_at, chooser, ends };
                    self.findings.push(across.at(at));
                }
                self.graph.add(Node::Broken)
            }
            None if self.resolution.definition(&name.text, view.side).is_none()
                && !self.resolution.is_role(&name.text) =>
            {
                let variables = scope.iter().filter_map(|scope| match scope {
                    Binding::Variable(name, _) => Some(name.text.clone()),
                    Binding::Barrier(..) => None,
                });
                let (variables, other_role) = (Some(variables.collect()), None);
                let name = name.clone();
                let at = name.span;
                let replicated = matches!(
                    scope.last(),
                    Some(Binding::Barrier(BarrierAt { body: Some(Tail::Name(body)), .. })) if body.span == at
                );
                let undefined = FindingKind::UndefinedDefinition { name, variables, other_role, replicated };
                self.findings.push(undefined.at(at));
                self.graph.add(Node::Broken)
            }
            None => self.named(name, view, false),
        }
    }

    /// `rec` takes everything to its right; a branch that never comes back was perhaps meant to stand outside.
    fn branches_of_the_loop(&mut self, variable: &Name, body: &Choice) {
        for branch in body.branches.iter().skip(1) {
            if !mentions(branch, &variable.text) {
                self.findings.push(FindingKind::BranchOfLoop(variable.clone()).at(branch.span));
            }
        }
    }
}

/// A variable that is bound around its use.
struct Bound<'a> {
    node: NodeId,
    name: &'a Name,
    /// The first barrier between it and its use.
    barrier: Option<BarrierAt<'a>>,
}

/// The innermost variable of that name.
fn variable<'a>(scope: &[Binding<'a>], name: &str) -> Option<Bound<'a>> {
    let mut barrier = None;
    for entry in scope.iter().rev() {
        match entry {
            Binding::Barrier(crossed) => barrier = barrier.or(Some(*crossed)),
            Binding::Variable(variable, node) if variable.text == name => {
                return Some(Bound { node: *node, name: variable, barrier });
            }
            Binding::Variable(..) => {}
        }
    }
    None
}

/// Where a variable stands in the body of a `*`; nothing if it stands where a sub-session begins, so that a sub-session
/// would do nothing if it ended there.
fn ends<'t>(body: &'t Tail, variable: &str) -> Option<Vec<Span>> {
    let mut found = Vec::new();
    // Each with whether a sub-session begins there.
    let mut waiting = vec![(body, true)];
    while let Some((tail, begins)) = waiting.pop() {
        let mut choice = |choice: &'t Choice| {
            let branches = choice.branches.iter();
            waiting.extend(branches.map(|branch| (&branch.tail, begins && branch.actions.is_empty())));
        };
        match tail {
            Tail::Name(name) if name.text == variable => {
                if begins {
                    return None;
                }
                found.push(name.span);
            }
            Tail::Recursion { variable: inner, body, .. } if inner.text != variable => choice(body),
            Tail::Group(body, _) => choice(body),
            Tail::Parallel(parts, _) => parts.iter().for_each(choice),
            Tail::Replicated(body, _) => waiting.push((body, true)),
            Tail::End(_) | Tail::Missing(_) | Tail::Dual { .. } | Tail::Name(_) | Tail::Recursion { .. } => {}
        }
    }
    Some(found)
}

/// Whether a variable is used in a piece of text; an inner loop of the same name hides it.
/// Whether a loop is not started again anywhere in its body. Where the body could not be read, that is not known.
fn never_starts_again<'a>(variable: &Name, body: &'a Choice) -> bool {
    let mut waiting: Vec<&'a Tail> = body.branches.iter().map(|branch| &branch.tail).collect();
    while let Some(tail) = waiting.pop() {
        let mut choice =
            |choice: &'a Choice| waiting.extend(choice.branches.iter().map(|branch| &branch.tail));
        match tail {
            Tail::End(_) => {}
            Tail::Missing(_) => return false,
            Tail::Name(name) | Tail::Dual { name, .. } if name.text == variable.text => return false,
            Tail::Name(_) | Tail::Dual { .. } => {}
            // The inner one hides it.
            Tail::Recursion { variable: inner, .. } if inner.text == variable.text => {}
            Tail::Group(body, _) | Tail::Recursion { body, .. } => choice(body),
            Tail::Parallel(parts, _) => parts.iter().for_each(choice),
            Tail::Replicated(body, _) => waiting.push(body),
        }
    }
    true
}

/// Where the branches of a loop end that could start it again.
fn ends_of(body: &Choice) -> Vec<Span> {
    let ends = body.branches.iter().flat_map(|branch| match &branch.tail {
        Tail::End(end) if !branch.actions.is_empty() => vec![*end],
        Tail::Group(inner, _) => ends_of(inner),
        _ => Vec::new(),
    });
    ends.collect()
}

fn mentions(sequence: &Sequence, variable: &str) -> bool {
    mentioned(&sequence.tail, variable)
}

fn mentioned(tail: &Tail, variable: &str) -> bool {
    let choice = |choice: &Choice| choice.branches.iter().any(|branch| mentions(branch, variable));
    match tail {
        Tail::End(_) | Tail::Missing(_) | Tail::Dual { .. } => false,
        Tail::Name(name) => name.text == variable,
        Tail::Recursion { variable: inner, body, .. } => inner.text != variable && choice(body),
        Tail::Group(body, _) => choice(body),
        Tail::Parallel(parts, _) => parts.iter().any(choice),
        Tail::Replicated(body, _) => mentioned(body, variable),
    }
}
