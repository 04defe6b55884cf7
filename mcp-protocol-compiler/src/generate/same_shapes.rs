//! Which shapes two protocols have in the same form, so that one Rust type is enough for both.

use std::collections::{BTreeMap, BTreeSet};

use crate::declarations::{DeclaredShape, Form, Position};

/// The names of the shapes that both protocols have in the same form, and whose parts, however deep, are the same, too.
/// Their documentation may differ.
pub(super) fn same_shapes(ours: &[DeclaredShape], theirs: &[DeclaredShape]) -> BTreeSet<String> {
    let by_name: BTreeMap<&str, &DeclaredShape> =
        theirs.iter().map(|shape| (&*shape.name.text, shape)).collect();
    let mut pairs: BTreeMap<&str, (&Form, &Form)> = BTreeMap::new();
    for shape in ours.iter().filter(|shape| !shape.is_built_in()) {
        if let Some(other) = by_name.get(&*shape.name.text) {
            pairs.insert(&shape.name.text, (&shape.form, &other.form));
        }
    }
    // A shape may contain itself, so all are taken to be the same until one of them differs.
    loop {
        let comparison = ShapeComparison { ours, theirs, same: pairs.keys().copied().collect() };
        let before = pairs.len();
        pairs.retain(|_, (ours, theirs)| comparison.is_same(ours, theirs));
        if pairs.len() == before {
            return pairs.into_keys().map(str::to_owned).collect();
        }
    }
}

struct ShapeComparison<'a> {
    ours: &'a [DeclaredShape],
    theirs: &'a [DeclaredShape],
    /// The shapes that have not been found to differ.
    same: BTreeSet<&'a str>,
}

impl ShapeComparison<'_> {
    fn is_same(&self, ours: &Form, theirs: &Form) -> bool {
        match (ours, theirs) {
            (Form::Named(ours), Form::Named(theirs)) => {
                let name = self.ours.get(*ours).map(|shape| &*shape.name.text);
                name == self.theirs.get(*theirs).map(|shape| &*shape.name.text)
                    && name.is_some_and(|name| self.same.contains(name))
            }
            (Form::List(ours), Form::List(theirs)) | (Form::Map(ours), Form::Map(theirs)) => {
                self.is_same(ours, theirs)
            }
            (Form::Tuple(ours), Form::Tuple(theirs)) => {
                let label = |position: &Position| position.label.as_ref().map(|label| label.text.clone());
                ours.len() == theirs.len()
                    && ours.iter().zip(theirs).all(|(ours, theirs)| {
                        label(ours) == label(theirs)
                            && ours.presence == theirs.presence
                            && self.is_same(&ours.form, &theirs.form)
                    })
            }
            (Form::Record(ours), Form::Record(theirs)) => {
                let pairs = || ours.fields.iter().zip(&theirs.fields);
                ours.rest == theirs.rest
                    && ours.fields.len() == theirs.fields.len()
                    && pairs().all(|(ours, theirs)| {
                        ours.name.text == theirs.name.text
                            && ours.optional == theirs.optional
                            && self.is_same(&ours.form, &theirs.form)
                    })
            }
            (Form::Union(ours), Form::Union(theirs)) => {
                ours.len() == theirs.len()
                    && ours.iter().zip(theirs).all(|(ours, theirs)| self.is_same(&ours.form, &theirs.form))
            }
            (ours, theirs) => ours == theirs,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::compile::compile;

    fn shapes(text: &str) -> Vec<DeclaredShape> {
        let rest = "notification Say \"say\" (Message)\nclient A\nserver B = dual A\nA = !Say . End\n";
        let text = format!("protocol Talk\n{text}{rest}");
        let compilation = compile(Path::new("talk.session"), &mut |_| Ok(text.as_bytes().to_vec())).unwrap();
        compilation.protocol.expect("no errors").declarations.shapes.clone()
    }

    #[test]
    fn a_shape_is_the_same_only_if_all_that_it_contains_is() {
        let ours = shapes(
            "type Word = string\ntype Tree = { word: Word, branches: [Tree] }\ntype Leaf = { size?: int }\n\
             type Crown = { leaves: map Leaf }\ntype Message = { tree: Tree, crown: Crown } | Word\n",
        );
        let theirs = shapes(
            "-- In another order, and a leaf has a size.\ntype Leaf = { size: int }\n\
             type Crown = { leaves: map Leaf }\ntype Tree = { word: Word, branches: [Tree] }\n\
             --- Says something.\ntype Word = string\ntype Message = { tree: Tree, crown: Crown } | Word\n",
        );
        let same = same_shapes(&ours, &theirs);
        assert_eq!(same.iter().map(|name| &**name).collect::<Vec<_>>(), ["Tree", "Word"]);
        assert_eq!(same_shapes(&ours, &ours).len(), ours.len());
        assert!(same_shapes(&ours, &[]).is_empty());
    }
}
