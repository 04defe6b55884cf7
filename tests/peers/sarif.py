"""The schema of SARIF 2.1.0. Reads a log from standard input, and prints what is wrong with it, a line each."""

import json
import pathlib
import sys

import jsonschema

FOLDER = pathlib.Path(__file__).parent / "node_modules/@microsoft/jest-sarif/lib/schemas"
SCHEMA = json.loads((FOLDER / "sarif-2.1.0-rtm.5.json").read_text())

formats = jsonschema.FormatChecker()
for error in jsonschema.Draft4Validator(SCHEMA, format_checker=formats).iter_errors(json.load(sys.stdin)):
    print(f"{error.json_path}: {error.message}")
