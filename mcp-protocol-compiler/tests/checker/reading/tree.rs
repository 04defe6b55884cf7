//! Turns the tree into places: names and variables become references.

use mcp_protocol_compiler::ast::{Choice, LevelDirection, Operator, Sequence, Tail};
use mcp_protocol_machine::protocol::Direction;

use super::{Branch, Node, Place, Reading, Suspensions, View, way};

/// One direction alone.
fn one(direction: Direction) -> Suspensions {
    let mut ways = [false; 2];
    ways[way(direction)] = true;
    ways
}

impl Reading<'_> {
    pub(super) fn add(&mut self, node: Node) -> Place {
        if let Some(ways) = self.in_only {
            self.only.insert(self.nodes.len(), ways);
        }
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    pub(super) fn named(&mut self, name: &str, view: View) -> Place {
        let role = self.resolution.roles.iter().find(|role| role.name.text == name);
        let view = View { side: role.map_or(view.side, |role| role.side), flipped: view.flipped };
        let index = self.resolution.definition(name, view.side).unwrap();
        if let Some(known) = self.definitions.get(&(index, view.side, view.flipped)) {
            return *known;
        }
        let place = self.add(Node::Pending);
        self.definitions.insert((index, view.side, view.flipped), place);
        let definition = &self.resolution.definitions[index];
        let ways = definition.only.map(|only| match (only.direction, view.flipped) {
            (None, _) => [true; 2],
            (Some(LevelDirection::Out), false) | (Some(LevelDirection::In), true) => one(Direction::Send),
            (Some(_), _) => one(Direction::Receive),
        });
        let around = std::mem::replace(&mut self.in_only, ways);
        if let Some(ways) = ways {
            self.only_definitions.insert(place, ways);
        }
        let body = self.choice(&definition.body, view, &mut Vec::new());
        self.in_only = around;
        self.nodes[place] = Node::Reference(body);
        place
    }

    fn choice(&mut self, choice: &Choice, view: View, scope: &mut Vec<(String, Place)>) -> Place {
        let branches = choice.branches.iter().map(|branch| self.sequence(branch, view, scope)).collect();
        let operator = choice.operators.first().map(|(operator, _)| match (operator, view.flipped) {
            (Operator::Internal, false) | (Operator::External, true) => Operator::Internal,
            _ => Operator::External,
        });
        self.add(Node::Choice(branches, operator))
    }

    fn sequence(&mut self, sequence: &Sequence, view: View, scope: &mut Vec<(String, Place)>) -> Branch {
        let mut branch = Branch::Other(self.tail(&sequence.tail, view, scope));
        for action in sequence.actions.iter().rev() {
            let next = match branch {
                Branch::Other(place) => place,
                action => self.add(Node::Choice(vec![action], None)),
            };
            let direction = if action.send != view.flipped { Direction::Send } else { Direction::Receive };
            let rule = action.levels.first().and_then(|level| level.rule.as_ref());
            let (name, rule) = (action.message.text.clone(), rule.map(|rule| rule.text.clone()));
            branch = Branch::Action { direction, name, next, rule };
        }
        branch
    }

    fn tail(&mut self, tail: &Tail, view: View, scope: &mut Vec<(String, Place)>) -> Place {
        match tail {
            Tail::End(_) => self.add(Node::End),
            Tail::Missing(_) => panic!("the text has errors"),
            Tail::Name(name) => match scope.iter().rev().find(|(bound, _)| *bound == name.text) {
                Some((_, place)) => *place,
                None => self.named(&name.text, view),
            },
            Tail::Dual { name, .. } => self.named(&name.text, View { flipped: !view.flipped, ..view }),
            Tail::Recursion { variable, body, .. } => {
                let place = self.add(Node::Pending);
                scope.push((variable.text.clone(), place));
                let body = self.choice(body, view, scope);
                scope.pop();
                self.nodes[place] = Node::Reference(body);
                place
            }
            Tail::Group(choice, _) => self.choice(choice, view, scope),
            Tail::Parallel(parts, _) => {
                let parts = parts.iter().map(|part| self.choice(part, view, scope)).collect();
                self.add(Node::Parallel(parts))
            }
            Tail::Replicated(body, _) => {
                let body = self.tail(body, view, scope);
                self.add(Node::Star(body))
            }
        }
    }
}
