//! What the types of a program say of themselves: names, descriptions and JSON Schemas.

use mcp_protocols::eras::types::{FieldSchema, FormSchema, Object, ObjectSchema};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Deserializer;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::Track;

/// The JSON Schema of a type, without what stands elsewhere: its name, and the dialect, which is 2020-12.
fn schema_of<T: JsonSchema>(inline: bool) -> Object {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    settings.inline_subschemas = inline;
    let settings = settings.with_transform(RecursiveTransform(without_number_format));
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(mut schema) => {
            schema.remove("title");
            schema
        }
        // `true`, for a type that may be anything.
        _ => Object::new(),
    }
}

/// Removes what JSON Schema does not have: the `format` of a number, such as `uint64`. Clients print a warning for each
/// of them, and some refuse the schema. The lowest and the highest number stay.
fn without_number_format(schema: &mut Schema) {
    let is_number = |kind: &Value| kind == "integer" || kind == "number";
    let of_number = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_number),
        Some(kind) => is_number(kind),
        None => false,
    };
    if of_number {
        schema.remove("format");
    }
}

/// The name of a type, as tools are named: `AddNote` is `add_note`, and `HTTPGet` is `http_get`.
pub(crate) fn name_of<T: JsonSchema>() -> String {
    snake(&T::schema_name())
}

fn snake(camel: &str) -> String {
    let letters: Vec<char> = camel.chars().collect();
    let mut name = String::new();
    for (place, letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| letters.get(before));
        let begins_a_word = letter.is_uppercase()
            && before.is_some_and(|before| match before.is_uppercase() {
                true => letters.get(place + 1).is_some_and(|next| next.is_lowercase()),
                false => *before != '_',
            });
        if begins_a_word {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

/// The documentation of a type, with its lines joined as Markdown joins them.
pub(crate) fn description_of<T: JsonSchema>() -> Option<String> {
    match schema_of::<T>(false).remove("description") {
        Some(Value::String(description)) => Some(description),
        _ => None,
    }
}

/// The schema of arguments; `None` if the type is not an object. A type without fields takes no arguments.
pub(crate) fn arguments_of<T: JsonSchema>() -> Option<ObjectSchema> {
    let mut schema = schema_of::<T>(false);
    schema.remove("description");
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        Some(Value::String(kind)) if kind == "null" => return Some(ObjectSchema::new()),
        _ => return None,
    }
    serde_json::from_value(Value::Object(schema)).ok()
}

/// The schema of what a tool returns.
pub(crate) fn output_of<T: JsonSchema>() -> Object {
    schema_of::<T>(false)
}

/// The fields of a form that asks for a type.
///
/// # Errors
/// What is wrong with the first field that no form has.
pub(crate) fn form_of<T: JsonSchema>() -> Result<FormSchema, String> {
    let mut schema = schema_of::<T>(true);
    let required: Vec<String> = match schema.remove("required") {
        Some(required) => serde_json::from_value(required).unwrap_or_default(),
        None => Vec::new(),
    };
    let properties = match schema.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Object::new(),
    };
    let mut form = FormSchema::new([]);
    for (name, mut field) in properties {
        as_field(&mut field);
        match serde_json::from_value::<FieldSchema>(field) {
            Ok(field) if required.contains(&name) => form = form.required_field(name, field),
            Ok(field) => form = form.field(name, field),
            Err(_) => {
                return Err(format!(
                    "the field `{name}` of `{}` cannot stand in a form: it has to be a text, a number, a `bool`, or an enum \
                     whose variants have no fields",
                    T::schema_name()
                ));
            }
        }
    }
    Ok(form)
}

/// Writes the schema of a field as forms have it. A field that may be left out is not required, so `null` is never filled in.
fn as_field(field: &mut Value) {
    let Value::Object(field) = field else { return };
    if let Some(Value::Array(alternatives)) = field.get_mut("anyOf") {
        alternatives.retain(|alternative| alternative.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = &**alternatives {
            let only = only.clone();
            field.remove("anyOf");
            for (key, value) in only {
                field.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(choices)) = field.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if let Some(Value::Array(kinds)) = field.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &**kinds {
            let kind = kind.clone();
            field.insert("type".to_owned(), kind);
        }
    }
    if let Some(choices) = field.get("oneOf").and_then(titled_choices) {
        field.insert("type".to_owned(), "string".into());
        field.insert("oneOf".to_owned(), choices);
    }
}

/// The choices of an enum whose variants are documented, each with its documentation as its title; nothing if some variant
/// has fields.
fn titled_choices(alternatives: &Value) -> Option<Value> {
    let mut choices = Vec::new();
    for alternative in alternatives.as_array()? {
        match alternative.get("enum") {
            // Variants without documentation stand together.
            Some(names) => {
                for name in names.as_array()? {
                    choices.push(json!({ "const": name.as_str()?, "title": name }));
                }
            }
            None => {
                let name = alternative.get("const")?.as_str()?;
                let title = alternative.get("description").and_then(Value::as_str).unwrap_or(name);
                choices.push(json!({ "const": name, "title": title }));
            }
        }
    }
    Some(choices.into())
}

/// Reads a value of a type from its members. A struct that is declared without braces has none, and ignores them as any
/// other one ignores members that it does not have.
pub(crate) fn read<T: DeserializeOwned>(members: Object) -> Result<T, Misfit> {
    read_value(Value::Object(members)).or_else(|misfit| read_value(Value::Null).map_err(|_| misfit))
}

/// Why a value is not one of a type. Its text begins with where: `days[1]: …`.
pub(crate) type Misfit = serde_path_to_error::Error<serde_json::Error>;

/// Reads a value of a type.
pub(crate) fn read_value<'v, T, V>(value: V) -> Result<T, Misfit>
where
    T: DeserializeOwned,
    V: Deserializer<'v, Error = serde_json::Error>,
{
    serde_path_to_error::deserialize(value)
}

/// Reads a value of a type from a text that is its JSON.
pub(crate) fn read_text<T: DeserializeOwned>(text: &str) -> Result<T, Misfit> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = read_value(&mut reader)?;
    reader.end().map_err(|error| Misfit::new(Track::new().path(), error))?;
    Ok(value)
}

/// What kind of value a property of a type is, for texts that become values of it.
pub(crate) fn kind_of<T: JsonSchema>(property: &str) -> Option<String> {
    let mut schema = schema_of::<T>(true);
    let mut property = schema.get_mut("properties")?.get_mut(property)?.take();
    as_field(&mut property);
    property.get("type").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use schemars::JsonSchema;

    /// Deletes a note,
    /// if the user confirms it
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "the schema is what is read")]
    struct DeleteNote {
        /// Which one
        id: i64,
        why: Option<String>,
    }

    #[derive(JsonSchema)]
    struct Ping;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "the schema is what is read")]
    enum Choice {
        Yes,
        No,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "the schema is what is read")]
    struct Form {
        sure: bool,
        count: Option<u8>,
        choice: Choice,
    }

    #[test]
    fn a_type_says_what_a_tool_needs_to_say() {
        assert_eq!(name_of::<DeleteNote>(), "delete_note");
        assert_eq!(description_of::<DeleteNote>().unwrap(), "Deletes a note,\nif the user confirms it");
        let schema = serde_json::to_value(arguments_of::<DeleteNote>().unwrap()).unwrap();
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["properties"]["id"]["description"], "Which one");
        assert_eq!(schema["required"], json!(["id"]));
        assert!(schema.get("$schema").is_none() && schema.get("title").is_none(), "{schema}");
    }

    #[test]
    fn numbers_have_limits_and_no_format() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "the schema is what is read")]
        struct Inner {
            share: f64,
        }

        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "the schema is what is read")]
        struct Sizes {
            small: u8,
            big: Option<u64>,
            many: Vec<usize>,
            inner: Inner,
            #[schemars(extend("format" = "date-time"))]
            day: String,
            format: i32,
        }

        let schema = Value::Object(output_of::<Sizes>());
        let text = schema.to_string();
        for format in ["uint8", "uint64", "uint", "double", "int32"] {
            assert!(!text.contains(&format!("\"format\":\"{format}\"")), "{text}");
        }
        let fields = &schema["properties"];
        assert_eq!(fields["small"], json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
        assert_eq!(fields["big"], json!({ "type": ["integer", "null"], "minimum": 0 }));
        assert_eq!(fields["many"]["items"], json!({ "type": "integer", "minimum": 0 }));
        assert_eq!(
            (&fields["day"]["format"], &fields["format"]["type"]),
            (&json!("date-time"), &json!("integer"))
        );
    }

    #[test]
    fn names_are_written_in_small_letters() {
        for (camel, name) in [
            ("AddNote", "add_note"),
            ("HTTPGet", "http_get"),
            ("GetHTTP", "get_http"),
            ("Sum2Numbers", "sum2_numbers"),
            ("Page_for_Note", "page_for_note"),
            ("A", "a"),
            ("already_small", "already_small"),
        ] {
            assert_eq!(snake(camel), name);
        }
    }

    #[test]
    fn what_has_no_fields_takes_no_arguments() {
        let schema = arguments_of::<Ping>().unwrap();
        assert_eq!(serde_json::to_value(schema).unwrap(), json!({ "type": "object" }));
        assert!(arguments_of::<Choice>().is_none());
        assert!(arguments_of::<Vec<u8>>().is_none());
    }

    #[test]
    fn members_that_a_type_does_not_have_are_ignored() {
        let members = || json!({ "extra": 1 }).as_object().cloned().unwrap();
        read::<()>(members()).unwrap();
        assert!(read::<i64>(members()).unwrap_err().to_string().contains("expected i64"));
    }

    #[test]
    fn a_form_has_the_fields_of_a_type() {
        let form = serde_json::to_value(form_of::<Form>().unwrap()).unwrap();
        assert_eq!(form["properties"]["sure"]["type"], "boolean");
        assert_eq!(form["properties"]["count"]["type"], "integer");
        assert_eq!(form["properties"]["choice"]["enum"], json!(["Yes", "No"]));
        // In which order depends on how other crates have `serde_json` built.
        let required: Vec<&str> =
            form["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(required.len() == 2 && required.contains(&"choice") && required.contains(&"sure"), "{form}");

        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "the schema is what is read")]
        struct Deep {
            inner: DeleteNote,
        }
        let refused = form_of::<Deep>().unwrap_err();
        assert!(refused.starts_with("the field `inner` of `Deep` cannot stand in a form: "), "{refused}");
    }

    #[test]
    fn choices_may_be_left_out_and_have_documentation() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "the schema is what is read")]
        enum Size {
            /// Half a litre
            Small,
            Large,
        }

        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "the schema is what is read")]
        struct Order {
            /// How much
            size: Size,
            other: Option<Size>,
            plain: Option<Choice>,
        }

        let form = serde_json::to_value(form_of::<Order>().unwrap()).unwrap();
        let title = |field: &str, name: &str| -> Value {
            let choices = form["properties"][field]["oneOf"].as_array().unwrap();
            let choice = choices.iter().find(|choice| choice["const"] == name).unwrap();
            choice["title"].clone()
        };
        for field in ["size", "other"] {
            assert_eq!(
                (title(field, "Small"), title(field, "Large")),
                ("Half a litre".into(), "Large".into())
            );
        }
        assert_eq!(form["properties"]["size"]["description"], "How much");
        assert_eq!(form["properties"]["plain"]["enum"], json!(["Yes", "No"]));
        assert_eq!(form["required"], json!(["size"]));
    }
}
