//! Suggestions that name nothing to type: each is in a list, with the reason.

use std::collections::BTreeSet;

use super::corpus;

/// What stands in such a suggestion, and why no edit follows it.
const WITHOUT: &[(&str, &str)] = &[
    ("delete one of the `capabilities", "which of the two is meant is the author's choice"),
    ("exchange `!` and `?` where", "which of the two is meant is the author's choice"),
    ("name a message that the", "no message that the side sends has a payload"),
    ("name a request, or a group that has requests", "which request is meant is the author's choice"),
    ("write `during Order`", "the request is missing"),
    ("write `if path` or `if path = ", "the path is missing"),
    ("write `if path = ", "the value is missing"),
    ("make them one reply whose shape is a union", "what the reply is called is the author's to say"),
    ("declare a message for each of the values", "what each of them is called is the author's to say"),
    (
        "behind the other alternative, and nothing behind this one",
        "which alternative is the other one is not known",
    ),
    ("start a name with a letter", "which letter is the author's choice"),
    ("write at most 255 characters", "what is left out is the author's choice"),
    ("a file of this language is not JSON", "what is to stand there is not known"),
    ("a loop is written `rec again", "where the loop starts again is not known"),
    ("write `?` at the end of the parentheses", "the shape may be one of other payloads, too"),
    ("rename the shape", "which name is the author's choice"),
    ("an item is a definition", "what stands there is not known"),
    ("or write `*` before the session type", "whether it is a sub-session is the author's to say"),
    ("write the whole item behind it", "which item is overridden is not known"),
    ("a definition is written", "whether the word begins a definition is not known"),
    ("keep `!Watch` in one of the two", "the bodies share another message, too"),
    ("write `types a_crate::a_module`", "which module is the author's to say"),
    ("write `notification Name", "the names of the message and of its method are missing"),
    ("write `request ", "the names of the message and of its method are missing"),
    ("keep one of them", "which of the two is meant is the author's to say"),
    ("write `...` before the name of a record", "which record is meant is not known"),
    ("move the fields that both need to a third record", "which fields both need is the author's to say"),
    (
        "make one of the fields or positions on the way optional",
        "which field, and how, is the author's choice",
    ),
    ("a field is written `name: shape`", "what was meant is not known"),
    ("a list is written `[shape]`", "where the list ends is not known"),
    ("give an inner shape a name with `type`", "which of them, and what name, is the author's choice"),
    ("close the parentheses behind the shape", "where they end is not known"),
    (": string`, or what else its value is", "what the value is, is the author's to say"),
    ("write `string`, `int`, `bool`, `any`", "what the shape is, is the author's to say"),
    ("put a record on the way, for instance", "what the record is for is the author's to say"),
    ("end the path before it", "the path may have been meant for another field"),
    ("it has no fields", "there is nothing to choose from"),
    ("a method of its own, or", "which method, or which shape, is the author's choice"),
    ("write `End` where its instance comes to", "the way back may lead through other definitions"),
    ("give them different conditions", "the reply has no field to tell it by"),
    ("name one of its fields", "which of them is the author's to say"),
    ("name a field that is a `string` or an `int`", "which field is the author's to say"),
    ("let one shape take what `", "which of the two is meant is the author's to say"),
    ("write `Hello.protocolVersion`", "the field is missing"),
    ("its fields are `", "none of them is near"),
    ("declare it where a request is to have it", "which request is to have it is the author's to say"),
    ("its positions are `", "none of them is near"),
    ("give one of the two positions another label", "what the position is called is the author's to say"),
    ("it is one of ", "none of them is near"),
    ("name a field that may be ", "which field is the author's to say"),
    ("write `}` behind the last field", "where the record ends is not known"),
    ("override the message: ", "what changes in its payload is the author's to say"),
    ("declare a shape with `", "which shape says the same as the type is not known"),
    ("a payload is one type: declare", "what the fields are is the author's to say"),
    ("write `grants registrations", "the field is missing"),
    ("write `Hello.capabilities`", "the field is missing"),
    ("write `each request._meta", "the field is missing"),
    ("write `error -32000`", "the code is the author's choice"),
    ("write `type Name", "the name is missing"),
    ("write `requires Guest.", "the capability is missing"),
    ("write `requires server.wine`", "which side announces it is the author's choice"),
    ("write `must` or `should`", "which of the two is the author's choice"),
    ("write what follows into", "the other definition may be used elsewhere"),
    ("write `End` if nothing is to happen", "what is missing is not known"),
    ("write `rec loop . …`", "the name of the loop and where it starts again are missing"),
    ("give an inner part a name", "what is cut from a deep nest is the author's choice"),
    ("the path is relative to the file that imports", "no file with a name like it is known"),
    ("move what both need into a third file", "another file has to be written"),
    ("delete this import", "the file begins with itself, and is not read to its end"),
    ("remove this member", "nothing is left of the group"),
    ("remove the branches that it has twice", "a million branches"),
    ("begin the body with one message", "what opens an instance is the author's choice"),
    ("let the other side answer first", "the order of the messages is the author's choice"),
    ("so write both orders", "what follows the second message is the author's choice"),
    ("write the refusal as a branch next to the reply", "where the refusal leads is the author's choice"),
    ("where it starts again, or delete `rec", "no branch ends that could start it again"),
    ("let one of them wait for the other", "which side waits is the author's choice"),
    ("write the same channels side by side", "more than can be compared"),
    ("define it, `Paying = End`", "a role that is declared twice has the name"),
    ("rename one of the messages", "the name is written in more places than the finding knows"),
    ("use another name, for instance `My", "the name is written in more places than the finding knows"),
    (
        "declare it: `notification Order \"its/method\"` or",
        "which of the two, and the method, is the author's choice",
    ),
    ("let it be one branch", "the branches are names, and the finding has the place of neither"),
    ("let the client go on with", "where a role goes on that has nothing to say is the author's choice"),
    ("next to `!Tip` at the start of", "what follows the added step is the author's choice"),
    ("`⊕ End` lets the role itself close", "the other branches of the choice would go against the operator"),
    ("let `?News` come there, too", "harmless, and only said with `--without-closure`"),
    ("or leave `--without-closure` out", "an option of the command"),
    ("listed because of `--without-closure`", "harmless, and only said with `--without-closure`"),
    ("if both are to happen", "the loop is started again from several places"),
    ("right after a gate", "which gate is not known"),
    ("right after the method, a reply or a gate", "which of them is not known"),
    ("to copy all of it", "which of the two is meant is the author's choice"),
    ("an arrow and the name of the reply stand here", "the name of the reply is missing"),
    ("name the type in Rust with `type`", "is typed in a Rust file"),
    ("name a field that lies less deep", "which field is the author's choice"),
    ("delete it here, and write `default", "the announcement may be missing"),
    ("put the part that repeats in `*( … )`", "the definition may be used elsewhere"),
    ("end the branch with", "what follows may be meant for another branch"),
    ("a message owns what it carries", "the type is not read to its end"),
    ("add a member, or remove the group", "which member is the author's choice"),
    ("name the reply that asks for another round", "which reply is the author's choice"),
    ("name a request, or a group of requests", "which request is the author's choice"),
    ("name the messages themselves", "more groups than can be read"),
    ("remove `replies Order` from the group", "the item of the group would be empty"),
    ("a loop is written `rec again", "where it starts again is the author's choice"),
    ("write `capabilities server = Message.path`", "the message and the field are missing"),
    ("write `(S, T)` for channels side by side", "which of the two is meant is the author's choice"),
    ("channels side by side are written in parentheses", "what the channels are is not read"),
    ("write `1 as Ok`", "the name of the variant is missing"),
    ("declare a message, `notification Name", "the name of the message is missing"),
    ("choose another name, for instance `α`", "the name is written in more places than the finding knows"),
    ("give the server a name of its own", "no name is left to propose"),
    ("delete `as ", "the name is found when code is generated"),
    ("write `as ", "the name is found when code is generated"),
    ("write `Paying only", "which of the two roles is meant is the author's choice"),
    ("where this role chooses", "a word that is not an operator ends the definition before it"),
    ("give it a name, `Next = …`", "each branch has to lead there"),
    ("at the start of `Shop`, or remove", "what the other channels are is the author's choice"),
    ("open the same sub-session in both places", "which of two bodies is meant is the author's choice"),
    ("the replies stand right behind", "what stands between is not known"),
    ("the code of the error is missing", "which code is the author's choice"),
    ("the method is given where", "the rest of the branch is not read"),
    ("write all replies before the modifiers", "the modifiers stand between, and may be another message's"),
    ("` in `Editor`, or remove", "what follows the added step is the author's choice"),
    ("` in `Store`, or remove", "what follows the added step is the author's choice"),
    ("` in `Waiter`, or remove", "what follows the added step is the author's choice"),
];

#[test]
fn a_suggestion_without_edits_has_its_reason() {
    let mut used = BTreeSet::new();
    let mut unknown = BTreeSet::new();
    for program in corpus::all() {
        let compilation = program.compiled();
        for finding in &compilation.diagnostics {
            for help in finding.helps.iter().filter(|help| help.edits().is_empty()) {
                let listed = WITHOUT.iter().find(|(text, _)| help.text().contains(text));
                match listed {
                    Some((text, _)) => drop(used.insert(*text)),
                    None => drop(unknown.insert(format!(
                        "`{}`: [{}] {} ({})",
                        program.name,
                        finding.code.0,
                        help.text(),
                        help.made_at()
                    ))),
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
    let unused: Vec<&str> =
        WITHOUT.iter().map(|(text, _)| *text).filter(|text| !used.contains(text)).collect();
    assert!(unused.is_empty(), "in the list, and never without edits: {unused:#?}");
}
