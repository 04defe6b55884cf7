//! Which forms the fields of a type fill in, and the values for them.

use mcp_protocols::eras::types::{FieldSchema, FieldValue, FormSchema};
use serde::Serialize;
use serde_json::Value;

/// Whether a value of a type fills in a form: `fields` are those of the type, as a form. All that the form requires is there,
/// all that the type requires is asked for, and fields of one name are of one kind.
pub(super) fn fits(fields: &FormSchema, asked: &FormSchema) -> bool {
    let has = |form: &FormSchema, required: &FormSchema| {
        required.required.iter().flatten().all(|field| form.properties.contains_key(field))
    };
    let is_of_kind = |(name, asked): (&String, &FieldSchema)| match fields.properties.get(name) {
        Some(field) => is_kind(kind(field).as_deref(), kind(asked).as_deref()),
        None => true,
    };
    has(fields, asked) && has(asked, fields) && asked.properties.iter().all(is_of_kind)
}

/// A whole number is a number, and otherwise kinds are the same.
fn is_kind(field: Option<&str>, asked: Option<&str>) -> bool {
    field == asked || field == Some("integer") && asked == Some("number")
}

fn kind(field: &FieldSchema) -> Option<String> {
    let field = serde_json::to_value(field).ok()?;
    field.get("type").and_then(Value::as_str).map(str::to_owned)
}

/// The values for a form. A field that the form does not have is left out, and so is one that is empty.
pub(super) fn values<T: Serialize>(
    filled_in: &T,
    asked: &FormSchema,
) -> Result<Vec<(String, FieldValue)>, serde_json::Error> {
    let Value::Object(fields) = serde_json::to_value(filled_in)? else { return Ok(Vec::new()) };
    let is_asked = |(name, value): &(String, Value)| !value.is_null() && asked.properties.contains_key(name);
    let value = |(name, value)| Ok((name, serde_json::from_value(value)?));
    fields.into_iter().filter(is_asked).map(value).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use mcp_protocols::eras::types::{BooleanSchema, NumberKind, NumberSchema, StringSchema};
    use schemars::JsonSchema;

    use super::super::super::schema::form_of;
    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Guest {
        name: String,
        age: u8,
        diet: Option<String>,
    }

    fn form() -> FormSchema {
        let age = NumberSchema::new(NumberKind::Number);
        FormSchema::new([]).required_field("name", StringSchema::new()).required_field("age", age)
    }

    #[test]
    fn a_type_fills_in_the_forms_that_ask_for_its_fields() {
        let fields = form_of::<Guest>().unwrap();
        assert!(fits(&fields, &form()));
        assert!(fits(&fields, &form().field("diet", StringSchema::new())));
        // A field that the user may leave empty is one that the type need not have.
        assert!(fits(&fields, &form().field("seat", StringSchema::new())));
        assert!(!fits(&fields, &form().required_field("seat", StringSchema::new())));
        assert!(!fits(&fields, &form().required_field("diet", BooleanSchema::new())));
        assert!(!fits(&fields, &FormSchema::new([]).required_field("name", StringSchema::new())));
    }

    #[test]
    fn only_what_is_asked_for_is_filled_in() {
        let guest = |diet| Guest { name: "Ada".to_owned(), age: 36, diet };
        let names = |guest, form: &FormSchema| {
            let mut names: Vec<String> =
                values(&guest, form).unwrap().into_iter().map(|(name, _)| name).collect();
            names.sort();
            names
        };
        assert_eq!(names(guest(Some("none".to_owned())), &form()), ["age", "name"]);
        let with_diet = form().field("diet", StringSchema::new());
        assert_eq!(names(guest(Some("none".to_owned())), &with_diet), ["age", "diet", "name"]);
        assert_eq!(names(guest(None), &with_diet), ["age", "name"]);
    }
}
