//! Edits of params by position, and what is said of each.

use crate::lines;

/// A protocol whose request has these params.
fn with(params: &str) -> String {
    format!(
        "protocol Chain \"1\"
type Place = {params}
request Read \"read\" (Place) -> Held (string)
client Wallet
server Node = dual Wallet
Wallet = *( !Read . ?Held . End )
"
    )
}

/// What breaks between two params.
fn changed(old: &str, new: &str) -> Vec<String> {
    lines(&with(old), &with(new))
}

#[test]
fn a_position_more_breaks_both_ways_if_it_is_required() {
    assert_eq!(
        changed("[string,]", "[string, int]"),
        [
            "old-new C0004 the old client may send `read` without `[1]`, where the new server expects a whole number",
            "new-old C0004 the new client may send `read` with 0 in `[1]`, where the old server expects the end of \
             the list"
        ]
    );
    let of_new = "new-old C0004 the new client may send `read` with 0 in `[1]`, where the old server expects the end \
                  of the list";
    assert_eq!(changed("[string,]", "[string, int?]"), [of_new]);
}

#[test]
fn fewer_positions_break_the_old_client() {
    assert_eq!(
        changed("[string, int?]", "[string,]"),
        [
            "old-new C0004 the old client may send `read` with 0 in `[1]`, where the new server expects the end of \
             the list"
        ]
    );
}

#[test]
fn an_optional_position_that_becomes_required_breaks_who_leaves_it_out() {
    assert_eq!(
        changed("[string, int?]", "[string, int]"),
        [
            "old-new C0004 the old client may send `read` without `[1]`, where the new server expects a whole number"
        ]
    );
}

#[test]
fn a_position_that_narrows_breaks_at_its_number() {
    assert_eq!(
        changed("[string, int | string]", "[string, int]"),
        [
            "old-new C0004 the old client may send `read` with \"text\" in `[1]`, where the new server expects a \
             whole number"
        ]
    );
    assert_eq!(
        changed("[string, { line: int }]", "[string, { line: uint }]"),
        [
            "old-new C0004 the old client may send `read` with -1 in `[1].line`, where the new server expects a whole \
             number that is not negative",
            "new-old C0004 the new client may send `read` with 18446744073709551615 in `[1].line`, where the old \
             server expects a whole number that an `i64` holds"
        ]
    );
}

#[test]
fn labels_are_not_on_the_wire() {
    for new in ["[place: string, depth: int]", "[depth: string, place: int]", "[string, int]"] {
        assert_eq!(changed("[place: string, depth: int]", new), [""; 0], "{new}");
    }
}

#[test]
fn a_rest_that_is_added_breaks_the_new_client_and_one_that_is_removed_the_old_one() {
    let longer = |client, server| {
        format!(
            "{client}-{server} C0004 the {client} client may send `read` with 0 in `[1]`, where the {server} server \
             expects the end of the list"
        )
    };
    assert_eq!(changed("[string,]", "[string, ...int]"), [longer("new", "old")]);
    assert_eq!(changed("[string, ...int]", "[string,]"), [longer("old", "new")]);
    assert_eq!(changed("[string, ...int]", "[string, ...int]"), [""; 0]);
}

#[test]
fn a_rest_that_narrows_breaks_at_its_first_element() {
    assert_eq!(
        changed("[string, ...(int | string)]", "[string, ...int]"),
        [
            "old-new C0004 the old client may send `read` with \"text\" in `[1]`, where the new server expects a \
             whole number"
        ]
    );
}

#[test]
fn a_position_before_a_rest_breaks_both_ways() {
    assert_eq!(
        changed("[string, ...int]", "[string, bool, ...int]"),
        [
            "old-new C0004 the old client may send `read` without `[1]`, where the new server expects true or false",
            "old-new C0004 the old client may send `read` with 0 in `[1]`, where the new server expects true or false",
            "new-old C0004 the new client may send `read` with false in `[1]`, where the old server expects a whole \
             number",
        ]
    );
    // An element of the rest that has a position of its own now.
    assert_eq!(changed("[string, ...int]", "[string, int?, ...int]"), [""; 0]);
}

#[test]
fn a_list_is_a_tuple_with_a_rest_that_must_have_its_first_element() {
    assert_eq!(
        changed("[string]", "[string, ...string]"),
        ["old-new C0004 the old client may send `read` without `[0]`, where the new server expects a string"]
    );
    assert_eq!(changed("[string]", "[string?, ...string]"), [""; 0]);
}

#[test]
fn a_tuple_is_not_a_list_of_any_length_and_not_a_record() {
    assert_eq!(
        changed("[string,]", "[string]"),
        [
            "new-old C0004 the new client may send `read` without `[0]`, where the old server expects a string",
            "new-old C0004 the new client may send `read` with \"\" in `[1]`, where the old server expects the end of \
             the list"
        ]
    );
    assert_eq!(
        changed("[string, int]", "{ place: string, depth: int }"),
        [
            "old-new C0004 the old client may send `read` as a list, where the new server expects an object `Place`",
            "new-old C0004 the new client may send `read` as an object, where the old server expects a list of 2 \
             elements"
        ]
    );
}
