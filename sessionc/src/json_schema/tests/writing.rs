//! What becomes of shapes.

use mcp_protocol_compiler::{compile, generate};
use mcp_protocol_machine::protocol::Literal;

use super::*;

/// A file without documentation.
pub(super) struct Nothing;

impl Source for Nothing {
    fn documentation(&self, _: &str, _: Option<&str>) -> Option<String> {
        None
    }

    fn variant(&self, _: &str, _: &Literal) -> Option<String> {
        None
    }

    fn is_inner(&self, _: &str) -> bool {
        false
    }
}

const TOOLS: &str = r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$defs": {
    "Tool": {
      "type": "object",
      "properties": {
        "name": {
          "type": "string"
        },
        "size": {
          "type": "integer",
          "minimum": 0,
          "maximum": 18446744073709551615
        },
        "place": {
          "type": "integer",
          "minimum": -9223372036854775808,
          "maximum": 9223372036854775807
        },
        "role": {
          "enum": ["user", "assistant"]
        },
        "level": {
          "anyOf": [
            {
              "const": "info"
            },
            {
              "type": "string"
            }
          ]
        },
        "token": {
          "type": ["null", "string"]
        },
        "content": {
          "type": "array",
          "items": {
            "$ref": "#/$defs/Content"
          }
        },
        "_meta": {
          "type": "object",
          "additionalProperties": {
            "type": "number"
          }
        }
      },
      "required": ["name", "content"],
      "additionalProperties": {}
    },
    "Content": {
      "anyOf": [
        {
          "type": "object",
          "properties": {
            "type": {
              "const": "text"
            }
          },
          "required": ["type"]
        },
        {
          "type": "boolean"
        }
      ]
    },
    "Alone": {
      "type": "object"
    }
  }
}"##;

#[test]
fn literals_are_constants_of_their_type() {
    let schema = r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$defs": {
    "Level": {
      "anyOf": [
        {
          "enum": [1, -2, "off", true]
        },
        {
          "type": "null"
        }
      ]
    },
    "Fixed": {
      "const": 7
    }
  }
}"##;
    let protocol = Tables::new(&read(&tree(schema), "Root")).protocol;
    assert_eq!(write(&protocol, None, &Nothing).to_string(), schema);
}

#[test]
fn what_is_read_is_written() {
    let schema = tree(TOOLS);
    let protocol = Tables::new(&read(&schema, "Root")).protocol;
    assert_eq!(write(&protocol, None, &Nothing).to_string(), TOOLS);
    let one = write(&protocol, Some(ShapeIndex(1)), &Nothing);
    let names: Vec<&str> = one.get("$defs").unwrap().members().iter().map(|(name, _)| &**name).collect();
    assert_eq!((names, one.get("$ref").and_then(Tree::as_text)), (vec!["Content"], Some("#/$defs/Content")));
}

/// What a file with tuples says of its labels.
struct Labelled;

impl Source for Labelled {
    fn documentation(&self, name: &str, part: Option<&str>) -> Option<String> {
        (name == "Place").then_some(part).flatten().map(|part| format!("What {part} is."))
    }

    fn variant(&self, _: &str, _: &Literal) -> Option<String> {
        None
    }

    fn is_inner(&self, name: &str) -> bool {
        name.starts_with("DeepPart")
    }
}

#[test]
fn a_tuple_has_its_positions_in_front_and_others_behind_them_if_it_has_a_rest() {
    let written = r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$defs": {
    "Place": {
      "type": "array",
      "prefixItems": [
        {
          "title": "at",
          "description": "What at is.",
          "type": "string"
        },
        {
          "title": "deep",
          "description": "What deep is.",
          "$ref": "#/$defs/Deep"
        }
      ],
      "items": {
        "title": "notes",
        "description": "What notes is.",
        "type": "string"
      },
      "minItems": 1
    },
    "Deep": {
      "type": "array",
      "prefixItems": [
        {
          "type": "string"
        },
        {
          "anyOf": [
            {
              "type": "array",
              "items": false
            },
            {
              "type": "array",
              "prefixItems": [
                {
                  "const": "x"
                }
              ],
              "items": false,
              "minItems": 1
            }
          ]
        }
      ],
      "items": false
    }
  }
}"##;
    let text = "protocol P \"1\"\ntype Place = [at: string, deep?: Deep, ...notes: string]\n\
                type Deep = [string?, ([] | [\"x\",])?]\nnotification Tell \"tell\" (Place)\n\
                client C\nserver S = dual C\nC = *( !Tell . End )\n";
    let mut file = |_: &std::path::Path| Ok(text.as_bytes().to_vec());
    let compilation = compile(std::path::Path::new("test.session"), &mut file).unwrap();
    let protocol = generate::machine(compilation.protocol.as_ref().unwrap());
    assert_eq!(write(&protocol, None, &Labelled).to_string(), written);
    let again = Tables::new(&read(&tree(written), "Root")).protocol;
    assert_eq!(write(&again, None, &Labelled).to_string(), written);
}
