//! Payload shapes with the names of types that generated code uses.

use mcp_runtime::shapes::Object as AnyObject;
use serde_json::{from_value, json, to_value};

mod names {
    mcp_runtime::protocol!("protocols/shape-names.session");
}

use names::types::{AnyValue, BTreeMap, Default, Number, Object, Result, Value, ValueValue};

#[test]
fn a_shape_may_have_the_name_of_a_type_that_generated_code_uses() {
    let texts = [("a".to_owned(), "b".to_owned())];
    let object = Object::new(AnyObject::new(), texts);
    let stored: BTreeMap =
        vec![ValueValue::new(json!([1]), Number::new(1, 0.5), object).into(), Value::from("text")];
    let written = json!([
        { "any": [1], "number": { "whole": 1, "exact": 0.5 }, "object": { "members": {}, "texts": { "a": "b" } } },
        "text",
    ]);
    assert_eq!(to_value(&stored).unwrap(), written);
    assert_eq!(from_value::<BTreeMap>(written).unwrap(), stored);
    let reset = Default::new().value(AnyValue::new(7)).clone(true);
    assert_eq!(to_value(reset).unwrap(), json!({ "value": { "value": 7 }, "clone": true }));
    assert_eq!(to_value(Result::Ok).unwrap(), json!("ok"));
}
