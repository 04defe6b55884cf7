"""JSON Schema as others have it: `export` prints the schema of the types of MCP's SDK for Python, `judge` says which
values the definitions of a schema accept."""

import json
import sys

import jsonschema
import mcp_types
import pydantic
from pydantic.json_schema import models_json_schema


def export():
    def is_model(member):
        return (
            isinstance(member, type)
            and issubclass(member, pydantic.BaseModel)
            and not member.__pydantic_generic_metadata__["parameters"]
        )

    models = [(member, "validation") for member in vars(mcp_types).values() if is_model(member)]
    _, schema = models_json_schema(models, by_alias=True)
    return schema


def judge(schema, cases):
    validators = {}
    for name in schema["$defs"]:
        whole = {"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}
        validators[name] = jsonschema.Draft202012Validator(whole)
    return [validators[name].is_valid(value) for name, value in cases]


match sys.argv[1]:
    case "export":
        print(json.dumps(export()))
    case "judge":
        print(json.dumps(judge(**json.load(sys.stdin))))
