//! Shapes, compiled for the values that have them, as nearly all do.
//!
//! Unions are lists of what they are in the end, and an object is looked at once, member by member, instead of once for each
//! field. What is wrong with a value that does not have its shape, [`judge`](super::judge) says, and it alone.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::ptr;

use super::choose::{Seen, fixed, fixed_of_field, is_literal, is_scalar, least};
use super::json::{Json, JsonKind};
use super::judge::DEEPEST;
use crate::protocol::{Literal, Position, Protocol, Record, Shape, ShapeIndex, Text};

/// How many fields of a record fit into one number, as a bit each. Larger records are left to the judge.
const MOST_FIELDS: usize = 64;

/// The shapes of a protocol.
#[derive(Debug)]
pub struct CompiledShapes {
    nodes: Box<[Node]>,
    /// Where each shape with a name is among them.
    named: Box<[usize]>,
}

/// A shape whose parts are known by their places.
#[derive(Debug)]
enum Node {
    /// One that looks into no list and no object.
    Scalar(Shape),
    /// One of several literals.
    Literals(Box<[Literal]>),
    List(usize),
    Tuple(CompiledTuple),
    Map(usize),
    /// With the bits of the fields that must be there.
    Record(Box<[CompiledField]>, u64),
    /// The alternatives that it has in the end, in their order.
    Union(Box<[usize]>),
    /// What only the judge knows.
    Unknown,
}

/// No position has a name.
#[derive(Debug)]
struct CompiledTuple {
    /// Those that stand for one element each.
    positions: Box<[CompiledField]>,
    /// How many elements must be there.
    least: usize,
    /// What all elements behind the positions are, if there may be some.
    rest: Option<usize>,
}

#[derive(Debug)]
struct CompiledField {
    name: Text,
    /// Its shape is a literal or one of several, by which unions choose.
    decides: bool,
    node: usize,
}

/// What a value is to a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tried {
    /// It has the shape.
    Has,
    /// In a union it is another alternative, or none.
    IsAnother,
    /// It may not have the shape, whatever else it may be.
    MayLack,
}

impl CompiledShapes {
    /// Compiles the shapes of a protocol.
    pub fn new(protocol: &Protocol) -> CompiledShapes {
        Compiler::compile(protocol)
    }

    /// Whether a value has a shape of the protocol for certain: then [`judge`](super::judge) accepts it, too. Otherwise
    /// it may still do so, for instance where an object has a key twice.
    pub fn has<J: Json>(&self, shape: ShapeIndex, value: &J) -> bool {
        let place = self.named.get(usize::from(shape.0));
        place.is_some_and(|place| self.tried(*place, value, 0) == Tried::Has)
    }

    /// Whether nothing in it is left to the judge.
    #[cfg(test)]
    pub(super) fn is_whole(&self) -> bool {
        !self.nodes.iter().any(|node| matches!(node, Node::Unknown))
    }

    fn tried<J: Json>(&self, place: usize, value: &J, depth: usize) -> Tried {
        let Some(node) = self.nodes.get(place).filter(|_| depth <= DEEPEST) else { return Tried::MayLack };
        let is_it = match node {
            Node::Scalar(Shape::Any) => true,
            Node::Scalar(shape) => is_scalar(shape, value, &value.kind()),
            Node::Literals(literals) => {
                let kind = value.kind();
                literals.iter().any(|literal| is_literal(literal, value, &kind))
            }
            Node::List(of) if value.kind() == JsonKind::List => {
                return all(value.each_element(|element| self.goes_on(*of, element, depth)));
            }
            Node::Tuple(tuple) if value.kind() == JsonKind::List => {
                return self.tried_as_tuple(tuple, value, depth);
            }
            Node::Map(of) if value.kind() == JsonKind::Object => {
                return all(value.each_member(|_, member| self.goes_on(*of, member, depth)));
            }
            Node::Record(fields, required) if value.kind() == JsonKind::Object => {
                return self.tried_as_record(fields, *required, value, depth);
            }
            Node::List(_) | Node::Tuple(_) | Node::Map(_) | Node::Record(..) => false,
            // The first alternative that it is not ruled out for is the one that it is.
            Node::Union(parts) => {
                let tried = parts.iter().map(|part| self.tried(*part, value, depth));
                return tried
                    .into_iter()
                    .find(|tried| *tried != Tried::IsAnother)
                    .unwrap_or(Tried::IsAnother);
            }
            Node::Unknown => return Tried::MayLack,
        };
        if is_it { Tried::Has } else { Tried::IsAnother }
    }

    fn goes_on<J: Json>(&self, of: usize, value: &J, depth: usize) -> ControlFlow<()> {
        match self.tried(of, value, depth + 1) {
            Tried::Has => ControlFlow::Continue(()),
            Tried::IsAnother | Tried::MayLack => ControlFlow::Break(()),
        }
    }

    fn tried_as_tuple<J: Json>(&self, tuple: &CompiledTuple, list: &J, depth: usize) -> Tried {
        let CompiledTuple { positions, least, rest } = tuple;
        let (mut left, mut count, mut lacks) = (positions.iter(), 0, false);
        let read = list.each_element(|element| {
            let (node, decides) = match (left.next(), rest) {
                (Some(position), _) => (position.node, position.decides),
                (None, Some(rest)) => (*rest, false),
                (None, None) => return ControlFlow::Break(()),
            };
            count += 1;
            match self.tried(node, element, depth + 1) {
                Tried::Has => {}
                // Another literal.
                Tried::IsAnother if decides => return ControlFlow::Break(()),
                Tried::IsAnother | Tried::MayLack => lacks = true,
            }
            ControlFlow::Continue(())
        });
        match read.is_break() || count < *least {
            true => Tried::IsAnother,
            false if lacks => Tried::MayLack,
            false => Tried::Has,
        }
    }

    fn tried_as_record<J: Json>(
        &self,
        fields: &[CompiledField],
        required: u64,
        object: &J,
        depth: usize,
    ) -> Tried {
        let (mut seen, mut is_another, mut lacks) = (0_u64, false, false);
        let read = object.each_member(|key, member| {
            let Some(place) = fields.iter().position(|field| *field.name == *key) else {
                return ControlFlow::Continue(());
            };
            let bit = 1 << place;
            if seen & bit != 0 {
                // The last one counts.
                return ControlFlow::Break(());
            }
            seen |= bit;
            let Some(field) = fields.get(place).filter(|_| !is_another) else {
                return ControlFlow::Continue(());
            };
            match self.tried(field.node, member, depth + 1) {
                Tried::Has => {}
                Tried::IsAnother if field.decides => is_another = true,
                Tried::IsAnother | Tried::MayLack => lacks = true,
            }
            ControlFlow::Continue(())
        });
        match (read.is_break(), is_another || required & !seen != 0) {
            (true, _) => Tried::MayLack,
            (false, true) => Tried::IsAnother,
            (false, false) if lacks => Tried::MayLack,
            (false, false) => Tried::Has,
        }
    }
}

/// What a list or a map is, by what is in it.
fn all(judged: ControlFlow<()>) -> Tried {
    if judged.is_continue() { Tried::Has } else { Tried::MayLack }
}

struct Compiler<'p> {
    protocol: &'p Protocol,
    nodes: Vec<Node>,
    /// Where each shape is among them that was met, by its address in the tables.
    places: HashMap<*const Shape, usize>,
    /// Those of them that are not compiled yet. Shapes may be inside one another without a limit.
    open: Vec<(usize, &'p Shape)>,
}

impl<'p> Compiler<'p> {
    fn compile(protocol: &'p Protocol) -> CompiledShapes {
        let mut compiler = Compiler { protocol, nodes: Vec::new(), places: HashMap::new(), open: Vec::new() };
        let named = protocol.shapes.iter().map(|named| compiler.place(&named.shape)).collect();
        while let Some((place, shape)) = compiler.open.pop() {
            let node = compiler.node(shape);
            if let Some(reserved) = compiler.nodes.get_mut(place) {
                *reserved = node;
            }
        }
        CompiledShapes { nodes: compiler.nodes.into(), named }
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The place of a shape.
    fn place(&mut self, shape: &'p Shape) -> usize {
        if let Some(place) = self.places.get(&ptr::from_ref(shape)) {
            return *place;
        }
        let place = self.add(Node::Unknown);
        self.places.insert(ptr::from_ref(shape), place);
        self.open.push((place, shape));
        place
    }

    fn node(&mut self, shape: &'p Shape) -> Node {
        match shape {
            Shape::List(of) => Node::List(self.place(of)),
            Shape::Tuple(positions) => self.tuple(positions),
            Shape::Map(of) => Node::Map(self.place(of)),
            Shape::Record(record) => self.record(record),
            Shape::Union(_) | Shape::Named(_) => Node::Union(self.alternatives(shape)),
            scalar => Node::Scalar(scalar.clone()),
        }
    }

    /// What a union or a name is in the end, each name once. One that stands for itself leads nowhere.
    fn alternatives(&mut self, shape: &'p Shape) -> Box<[usize]> {
        let (mut alternatives, mut seen, mut around) = (Vec::new(), Seen::default(), BTreeSet::new());
        let mut open = vec![(std::slice::from_ref(shape), None)];
        while let Some((parts, name)) = open.pop() {
            let Some((first, rest)) = parts.split_first() else {
                name.map(|name| around.remove(&name));
                continue;
            };
            open.push((rest, name));
            match first {
                Shape::Named(index) if around.contains(index) => alternatives.push(self.add(Node::Unknown)),
                Shape::Named(index) => {
                    if let Some(named) = self.protocol.shape(*index).filter(|_| seen.insert(*index)) {
                        around.insert(*index);
                        open.push((std::slice::from_ref(&named.shape), Some(*index)));
                    }
                }
                Shape::Union(parts) => open.push((parts, None)),
                leaf => alternatives.push(self.place(leaf)),
            }
        }
        alternatives.into()
    }

    fn tuple(&mut self, positions: &'p [Position]) -> Node {
        let least = least(positions);
        let (positions, rest) = match positions.split_last() {
            Some((last, others)) if last.presence.is_rest() => (others, Some(self.place(&last.shape))),
            _ => (positions, None),
        };
        let positions = positions.iter().map(|position| {
            let literals = fixed(self.protocol, &position.shape);
            self.field("".into(), literals, &position.shape)
        });
        Node::Tuple(CompiledTuple { positions: positions.collect(), least, rest })
    }

    fn field(&mut self, name: Text, literals: Option<Vec<&'p Literal>>, shape: &'p Shape) -> CompiledField {
        let decides = literals.is_some();
        let node = match literals {
            Some(literals) => self.add(Node::Literals(literals.into_iter().cloned().collect())),
            None => self.place(shape),
        };
        CompiledField { name, decides, node }
    }

    fn record(&mut self, record: &'p Record) -> Node {
        if record.fields.len() > MOST_FIELDS {
            return Node::Unknown;
        }
        let fields = record.fields.iter().map(|field| {
            let literals = fixed_of_field(self.protocol, field);
            self.field(field.name.clone(), literals, &field.shape)
        });
        let fields = fields.collect();
        let required = record.fields.iter().rev();
        let required = required.fold(0, |bits, field| bits << 1 | u64::from(field.required));
        Node::Record(fields, required)
    }
}
