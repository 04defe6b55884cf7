//! Mistakes in session types, as they are shown.

use super::shown;

#[test]
fn sequences() {
    insta::assert_snapshot!(shown(&[
        "A = !Ping",
        "A = !Ping .",
        "A = !Ping .\nB = ?Pong . End",
        "A = !Ping . ?Pong\n\nB = End",
        "A = !Ping ?Pong . End",
        "A = !Ping End",
        "A = !Ping -> ?Pong . End",
        "A = Ping . ?Pong . End",
        "A = !Ping . End . ?Pong . End",
        "A = ! . End",
        "A = !\"ping\" . End",
        "A = !Ping \"ping\" . End",
        "A = \"ping\"",
        "A = !request . End",
        "A = !reply . reply",
        "A =",
        "A =\nB = End",
        "A = !Ping · ?Pong . End",
        "A = !Ping; ?Pong; End",
        "A = dual (!Ping . End)",
        "A = (!Ping . End) . B",
    ]));
}

#[test]
fn choices() {
    insta::assert_snapshot!(shown(&[
        "A = !X . End ⊕",
        "A = !X . End ⊕ ⊕ !Y . End",
        "A = !X . End && ?Y . End",
        "A = !X . End | !Y . End",
        "A = !X . End || !Y . End",
        "A = !X . End + !Y . End",
        "A = !X . End ∧ ?Y . End",
        "A = ( !X . A\n      ?Y . A )",
        "A = !X . A\n    !Y . A",
        "A = ( !X . A ⊕ !Y )",
        "A = ( B C )",
        "A = ( B = C )",
        "A = ( B \"text\" )",
    ]));
}

#[test]
fn parentheses() {
    insta::assert_snapshot!(shown(&[
        "A = ( !X . A",
        "A = ( !X . A\n\nB = ( ?Y . B )",
        "A = ( !X . ( ?Y . ( !Z . A",
        "A = !X . A )",
        "A = ( !X . A ) )\nB = End",
        "A = ()",
        "A = ( , B)",
        "A = (B, , C)",
        "A = B, C",
        "A = B, C,\nD = End",
        "A = rec x { !X . x }",
    ]));
}

#[test]
fn replication_and_recursion() {
    insta::assert_snapshot!(shown(&[
        "A = *!Ping . ?Pong",
        "A = (*!Ping . ?Pong . End, B)",
        "A = *rec x . !Ping . x",
        "A = **B",
        "A = *",
        "A = *B . C",
        "A = rec",
        "A = rec . !X . A",
        "A = rec x",
        "A = rec x .",
        "A = rec x ( !X . x )",
        "A = rec μ . !X . μ",
        "A = rec End . !X . A",
        "A = 𝜇 x . !X . x",
    ]));
}
