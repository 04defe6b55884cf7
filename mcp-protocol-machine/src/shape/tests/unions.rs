//! Which alternative a value is, and which alternatives are never chosen.

use super::*;

fn text_content() -> Shape {
    record(vec![Field::required("type", Shape::literal("text")), Field::required("text", Shape::Text)])
}

fn image_content() -> Shape {
    record(vec![Field::required("type", Shape::literal("image")), Field::required("data", Shape::Text)])
}

#[test]
fn json_types_tell_alternatives_apart() {
    let none = protocol(vec![]);
    let parts = [Shape::Null, list(Shape::Int), Shape::Text, Shape::Uint, Shape::Number, Shape::Object];
    let place = |value: Value| choose(&none, &parts, &&value);
    assert_eq!(place(json!(null)), Some(0));
    assert_eq!(place(json!(["a"])), Some(1), "the elements are judged, and do not choose");
    assert_eq!(place(json!("a")), Some(2));
    assert_eq!(place(json!(7)), Some(3));
    assert_eq!(place(json!(-7)), Some(4));
    assert_eq!(place(json!({})), Some(5));
    assert_eq!(place(json!(true)), None);
    assert_eq!(
        verdict(&none, &union(parts.to_vec()), &json!(["a"])),
        "[0]: expected a whole number, found \"a\""
    );
    let some = union(vec![Shape::Null, Shape::literal("a"), Shape::literal("b")]);
    assert_eq!(verdict(&none, &some, &json!("c")), "expected null, \"a\" or \"b\", found \"c\"");
}

#[test]
fn texts_tell_records_apart() {
    let tables = protocol(vec![("Text", text_content()), ("Image", image_content())]);
    let content = union(vec![named(0), named(1)]);
    let verdict = |value: Value| verdict(&tables, &content, &value);
    assert_eq!(verdict(json!({ "type": "text", "text": "" })), "fits");
    assert_eq!(verdict(json!({ "type": "image", "data": "" })), "fits");
    assert_eq!(
        verdict(json!({ "type": "image", "text": "" })),
        "data: expected a string, found nothing",
        "the text decides, although the fields are those of the other one"
    );
    assert_eq!(verdict(json!({ "type": "sound" })), "type: expected \"text\" or \"image\", found \"sound\"");
    assert_eq!(verdict(json!({})), "type: expected \"text\" or \"image\", found nothing");
    assert_eq!(verdict(json!([])), "expected an object `Text` or an object `Image`, found a list");
}

#[test]
fn numbers_and_booleans_tell_records_apart() {
    let fixed = |key: &'static str, literal: Literal, more| {
        record(vec![Field::required(key, Shape::Literal(literal)), more])
    };
    let good = fixed("ok", true.into(), Field::required("value", Shape::Int));
    let bad = fixed("ok", false.into(), Field::required("error", Shape::Text));
    let tables = protocol(vec![("Good", good), ("Bad", bad)]);
    let answer = union(vec![named(0), named(1)]);
    let verdict_of = |value: Value| verdict(&tables, &answer, &value);
    assert_eq!(verdict_of(json!({ "ok": true, "value": 1 })), "fits");
    assert_eq!(verdict_of(json!({ "ok": false, "error": "" })), "fits");
    assert_eq!(verdict_of(json!({ "ok": false, "value": 1 })), "error: expected a string, found nothing");
    assert_eq!(verdict_of(json!({ "ok": "no" })), "ok: expected true or false, found \"no\"");

    let level = |level: i64| fixed("level", level.into(), Field::required("text", Shape::Text));
    let tables = protocol(vec![("One", level(1)), ("Two", level(2))]);
    let parts = [named(0), named(1)];
    assert_eq!(choose(&tables, &parts, &&json!({ "level": 2.0, "text": "" })), Some(1), "`2.0` is `2`");
    assert_eq!(choose_by_member(&tables, &parts, "level", &&json!(2.0)), Some(1));
    assert_eq!(choose_by_member(&tables, &parts, "level", &&json!(3)), None);
    assert_eq!(
        verdict(&tables, &union(parts.to_vec()), &json!({ "level": 3, "text": "" })),
        "level: expected 1 or 2, found 3"
    );
}

#[test]
fn a_literal_is_hidden_by_all_shapes_that_take_it() {
    let none = protocol(vec![]);
    let (one, minus, truth) = (Shape::literal_int(1), Shape::literal_int(-1), Shape::literal_bool(true));
    for (earlier, later, expected) in [
        (&Shape::Int, &one, true),
        (&Shape::Uint, &one, true),
        (&Shape::Uint, &minus, false),
        (&Shape::Number, &minus, true),
        (&Shape::Bool, &truth, true),
        (&Shape::Text, &one, false),
        (&one, &Shape::Int, false),
        (&one, &minus, false),
        (&one, &one, true),
        (&Shape::literal_bool(false), &truth, false),
    ] {
        assert_eq!(hides(&none, earlier, later), expected, "{earlier:?} {later:?}");
    }
    let both = union(vec![truth.clone(), Shape::literal_bool(false)]);
    assert!(hides(&none, &both, &Shape::Bool), "there is no third value");
    assert!(!hides(&none, &union(vec![truth, Shape::Null]), &Shape::Bool));
}

#[test]
fn an_optional_text_tells_records_apart_where_it_is_there() {
    let form = record(vec![
        Field::optional("mode", Shape::literal("form")),
        Field::required("schema", Shape::Object),
    ]);
    let url =
        record(vec![Field::required("mode", Shape::literal("url")), Field::required("url", Shape::Text)]);
    let tables = protocol(vec![("Form", form), ("Url", url)]);
    let parts = [named(0), named(1)];
    let place = |value: Value| choose(&tables, &parts, &&value);
    assert_eq!(place(json!({ "schema": {} })), Some(0));
    assert_eq!(place(json!({ "mode": "form" })), Some(0), "the only one left");
    assert_eq!(place(json!({ "mode": "url", "schema": {} })), Some(1));
    assert_eq!(place(json!({ "mode": "other", "schema": {}, "url": "" })), None);
    assert_eq!(
        verdict(&tables, &union(parts.to_vec()), &json!({ "mode": "other" })),
        "mode: expected \"form\" or \"url\", found \"other\""
    );
}

#[test]
fn required_fields_tell_records_apart() {
    let text = record(vec![Field::required("uri", Shape::Text), Field::required("text", Shape::Text)]);
    let blob = record(vec![Field::required("uri", Shape::Text), Field::required("blob", Shape::Text)]);
    let tables = protocol(vec![("Text", text), ("Blob", blob)]);
    let resource = union(vec![named(0), named(1)]);
    let verdict = |value: Value| verdict(&tables, &resource, &value);
    assert_eq!(verdict(json!({ "uri": "", "text": "" })), "fits");
    assert_eq!(verdict(json!({ "uri": "", "blob": "" })), "fits");
    assert_eq!(verdict(json!({ "uri": "", "blob": 1 })), "blob: expected a string, found 1");
    assert_eq!(
        verdict(json!({ "uri": "", "text": null, "blob": "" })),
        "text: expected a string, found null"
    );
    assert_eq!(
        // In the order of the alphabet, for maps of `serde_json` keep the order only with a feature of it.
        verdict(json!({ "name": "", "uri": "" })),
        "expected an object with `uri` and `text` or an object with `uri` and `blob`, \
         found an object with `name` and `uri`"
    );
}

#[test]
fn an_alternative_inside_an_alternative_is_reached() {
    let tables = protocol(vec![
        ("Text", text_content()),
        ("Image", image_content()),
        ("Content", union(vec![named(0), named(1)])),
        ("Some", union(vec![Shape::Null, list(named(2)), named(2)])),
    ]);
    let verdict = |value: Value| verdict(&tables, &named(3), &value);
    assert_eq!(verdict(json!({ "type": "image", "data": "" })), "fits");
    assert_eq!(verdict(json!([{ "type": "image", "data": "" }])), "fits");
    assert_eq!(verdict(json!([{ "type": "image" }])), "[0].data: expected a string, found nothing");
}

#[test]
fn what_takes_all_hides_what_stands_behind() {
    let tables = protocol(vec![("Text", text_content()), ("Image", image_content()), ("Any", Shape::Any)]);
    let hides = |earlier: Shape, later: Shape| hides(&tables, &earlier, &later);
    assert!(hides(Shape::Text, Shape::literal("a")) && !hides(Shape::literal("a"), Shape::Text));
    assert!(
        hides(Shape::Number, Shape::Int)
            && !hides(Shape::Int, Shape::Uint)
            && !hides(Shape::Uint, Shape::Int)
    );
    assert!(hides(list(Shape::Int), list(Shape::Text)));
    assert!(hides(Shape::Object, named(0)) && hides(Shape::Map(Shape::Int.into()), named(0)));
    assert!(hides(named(2), named(0)) && !hides(named(0), named(2)));
    assert!(!hides(named(0), named(1)) && hides(named(0), named(0)));
    let all = union(vec![Shape::Text, Shape::Null]);
    assert!(hides(all.clone(), union(vec![Shape::Null, Shape::literal("a")])));
    assert!(!hides(all, union(vec![Shape::Null, Shape::Bool])));

    let a = |shape| record(vec![Field::required("a", shape)]);
    let empty = record(vec![]);
    let a_and_b = record(vec![Field::required("a", Shape::Int), Field::required("b", Shape::Int)]);
    assert!(hides(empty.clone(), a(Shape::Int)) && hides(empty, Shape::Object));
    assert!(hides(a(Shape::Text), a_and_b.clone()) && !hides(a_and_b, a(Shape::Int)));
    let (x, y) = (Shape::literal("x"), Shape::literal("y"));
    assert!(hides(a(union(vec![x.clone(), y.clone()])), a(y.clone())));
    assert!(!hides(a(x.clone()), a(Shape::Text)) && !hides(a(x.clone()), a(y)));
    let optional = |shape| record(vec![Field::optional("a", shape)]);
    assert!(!hides(optional(x.clone()), record(vec![])), "without the field, its text may be another one");
    assert!(hides(optional(x.clone()), a(x)));
}

#[test]
fn literals_and_the_number_of_elements_tell_tuples_apart() {
    let none = protocol(vec![]);
    let heads = tuple(vec![Position::required(Shape::literal("heads"))]);
    let logs = tuple(vec![Position::required(Shape::literal("logs")), Position::optional(Shape::Uint)]);
    let topics = union(vec![heads.clone(), logs.clone()]);
    let verdict_of = |value: Value| verdict(&none, &topics, &value);
    for value in [json!(["heads"]), json!(["logs"]), json!(["logs", 7])] {
        assert_eq!(verdict_of(value), "fits");
    }
    assert_eq!(
        verdict_of(json!(["logs", -7])),
        "[1]: expected a whole number that is not negative, found -7"
    );
    assert_eq!(verdict_of(json!(["blocks"])), "[0]: expected \"heads\" or \"logs\", found \"blocks\"");
    assert_eq!(verdict_of(json!([])), "[0]: expected \"heads\" or \"logs\", found nothing");
    assert_eq!(verdict_of(json!(["heads", 7])), "expected a list of 1 element, found one of 2");
    assert_eq!(
        verdict_of(json!({})),
        "expected a list of 1 element or a list of 1 or 2 elements, found an object"
    );

    let one = || tuple(vec![Position::required(Shape::Text)]);
    let three = || tuple(vec![Position::required(Shape::Text); 3]);
    let one_or_three = union(vec![one(), three()]);
    assert_eq!(verdict(&none, &one_or_three, &json!(["a", "b", 3])), "[2]: expected a string, found 3");
    let found = verdict(&none, &one_or_three, &json!(["a", "b"]));
    assert_eq!(
        found, "[2]: expected a string, found nothing",
        "there are too many elements for the other one"
    );
    let found = verdict(&none, &one_or_three, &json!([]));
    assert_eq!(found, "expected a list of 1 element or a list of 3 elements, found one of 0");
    let found = verdict(&none, &union(vec![one(), list(Shape::Int)]), &json!(["a", 2]));
    assert_eq!(found, "[0]: expected a whole number, found \"a\"", "any other number of elements is a list");
}

#[test]
fn a_tuple_hides_those_with_as_many_elements_and_no_list() {
    let none = protocol(vec![]);
    let of_position = |required, shape: &Shape| {
        Position::new(None, if required { Presence::Required } else { Presence::Optional }, shape.clone())
    };
    let of = |positions: &[(bool, Shape)]| {
        tuple(positions.iter().map(|(required, shape)| of_position(*required, shape)).collect())
    };
    let (text, x, y) = (Shape::Text, Shape::literal("x"), Shape::literal("y"));
    let hides = |earlier: &Shape, later: &Shape| hides(&none, earlier, later);
    let one_or_two = of(&[(true, text.clone()), (false, Shape::Int)]);
    assert!(hides(&one_or_two, &of(&[(true, Shape::Bool)])), "the elements are judged, and do not choose");
    assert!(!hides(&of(&[(true, Shape::Bool)]), &one_or_two));
    assert!(!hides(&one_or_two, &list(Shape::Any)) && hides(&list(Shape::Text), &one_or_two));
    assert!(!hides(&of(&[]), &list(Shape::Any)) && hides(&list(Shape::Any), &of(&[])));
    assert!(hides(&of(&[(true, text.clone())]), &of(&[(true, x.clone())])));
    assert!(!hides(&of(&[(true, x.clone())]), &of(&[(true, text)])));
    assert!(!hides(&of(&[(true, x.clone())]), &of(&[(true, y)])));
    assert!(hides(&of(&[(true, Shape::Any), (false, x)]), &of(&[(true, Shape::Any)])));
}

#[test]
fn a_tuple_with_a_rest_is_chosen_by_its_other_positions() {
    let none = protocol(vec![]);
    let (x, y) = (|| Position::required(Shape::literal("x")), || Position::required(Shape::literal("y")));
    let (of_int, of_x) = (|| Position::rest(Shape::Int), || Position::rest(Shape::literal("x")));
    let either = union(vec![tuple(vec![x(), of_int()]), tuple(vec![y(), of_x()])]);
    for value in [json!(["x"]), json!(["x", 1, 2]), json!(["y"]), json!(["y", "x", "x"])] {
        assert_eq!(verdict(&none, &either, &value), "fits");
    }
    let says = |value: Value| verdict(&none, &either, &value);
    assert_eq!(
        says(json!(["y", "x", 1])),
        "[2]: expected \"x\", found 1",
        "a literal of the rest does not decide"
    );
    assert_eq!(says(json!(["z", 1])), "[0]: expected \"x\" or \"y\", found \"z\"");
    assert_eq!(says(json!([])), "[0]: expected \"x\" or \"y\", found nothing");

    let two = || tuple(vec![Position::required(Shape::Text); 2]);
    let at_least_three = tuple([vec![Position::required(Shape::Text); 3], vec![of_int()]].concat());
    let by_number = union(vec![two(), at_least_three.clone()]);
    assert_eq!(verdict(&none, &by_number, &json!(["a", "b", "c", 4, 5])), "fits");
    assert_eq!(
        verdict(&none, &by_number, &json!(["a"])),
        "expected a list of 2 elements or a list of at least 3 elements, found one of 1"
    );

    let hides = |earlier: &Shape, later: &Shape| hides(&none, earlier, later);
    let any_number = |position: Position| tuple(vec![position, of_int()]);
    assert!(hides(&any_number(Position::required(Shape::Text)), &two()) && !hides(&two(), &any_number(x())));
    assert!(hides(&any_number(Position::required(Shape::Text)), &at_least_three));
    assert!(!hides(&any_number(x()), &two()) && hides(&any_number(x()), &tuple(vec![x(), y()])));
    assert!(!hides(&at_least_three, &any_number(x())));
    let optional_x = any_number(Position::optional(Shape::literal("x")));
    assert!(!hides(&optional_x, &tuple(vec![of_x()])), "another element may be the first one");
    assert!(hides(&optional_x, &tuple(vec![])));
    let all = any_number(Position::optional(Shape::Text));
    assert!(
        hides(&all, &list(Shape::Text))
            && hides(&list(Shape::Text), &all)
            && !hides(&optional_x, &list(Shape::Text))
    );
}
