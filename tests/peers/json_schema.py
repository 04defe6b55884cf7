"""JSON Schema and MCP's SDK for Python. `export` prints the schema of its types, and `export_revision` that of the
models which read the payloads of revision 2025-11-25. `judge` says which values the definitions of a schema accept,
`validate` which values the models accept."""

import json
import sys

import jsonschema
import mcp_types
import mcp_types._v2025_11_25 as revision
import pydantic
from pydantic.json_schema import GenerateJsonSchema, models_json_schema


class Written(GenerateJsonSchema):
    """What the SDK writes: a member that is `None` by default is left out, not `null`."""

    def default_schema(self, schema):
        inner = schema["schema"]
        if inner["type"] == "nullable" and schema.get("default", ...) is None:
            return self.generate_inner(inner["schema"])
        return super().default_schema(schema)


def is_model(member):
    return (
        isinstance(member, type)
        and issubclass(member, pydantic.BaseModel)
        and not member.__pydantic_generic_metadata__["parameters"]
    )


def export():
    models = [(member, "validation") for member in vars(mcp_types).values() if is_model(member)]
    _, schema = models_json_schema(models, by_alias=True)
    return schema


def adapters():
    """What validates each model of the revision, and each alias of several of them."""
    imported = ("Any", "Annotated", "Literal", "ConfigDict", "Field", "WireModel")
    members = vars(revision).items()
    own = [(name, member) for name, member in members if name[0].isupper() and name not in imported]
    return {name: pydantic.TypeAdapter(member) for name, member in own}


def adapters_of_all_revisions():
    """What validates the public models, by the names of those of the revision."""
    members = {name: getattr(mcp_types, name) for name in vars(revision) if hasattr(mcp_types, name)}
    # Which of the two it is depends on the request.
    members["CreateMessageResult"] |= mcp_types.CreateMessageResultWithTools
    return {name: pydantic.TypeAdapter(member) for name, member in members.items() if name[0].isupper()}


def export_revision():
    inputs = [(name, "validation", adapter) for name, adapter in adapters().items()]
    by_name, schema = pydantic.TypeAdapter.json_schemas(inputs, by_alias=True, schema_generator=Written)
    for (name, _), definition in by_name.items():
        schema["$defs"].setdefault(name, definition)
    return schema


def judge(schema, cases):
    validators = {}
    for name in schema["$defs"]:
        whole = {"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}
        validators[name] = jsonschema.Draft202012Validator(whole)
    return [validators[name].is_valid(value) for name, value in cases]


def errors(adapter, value, strict=None):
    """The kinds of errors that a value has, converted as the SDK does it, with the names that members have in JSON."""
    try:
        adapter.validate_python(value, by_name=False, strict=strict)
    except pydantic.ValidationError as error:
        return sorted({detail["type"] for detail in error.errors(include_url=False)})
    return []


def validate(cases):
    """Says of each value which errors it has, and whether it has none if nothing is converted. The SDK reads it with
    the model of the revision first, and then with the public one, if there is one."""
    first, second = adapters(), adapters_of_all_revisions()

    def verdict(name, value):
        found = errors(first[name], value)
        if not found and name in second:
            found = errors(second[name], value)
        return {"errors": found, "strictly": not errors(first[name], value, strict=True)}

    return [verdict(name, value) for name, value in cases]


match sys.argv[1]:
    case "export":
        print(json.dumps(export()))
    case "export_revision":
        print(json.dumps(export_revision()))
    case "judge":
        print(json.dumps(judge(**json.load(sys.stdin))))
    case "validate":
        print(json.dumps(validate(**json.load(sys.stdin))))
