"""The JSON Schemas published in docs/wire-schema/v1."""

import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from tests.support.paths import ROOT

_FOLDER = ROOT / "docs" / "wire-schema" / "v1"


def check(document: Any, name: str) -> None:
    """Raise ValidationError unless the document is valid against the named schema."""
    _validator(name).validate(document)


@cache
def _validator(name: str) -> Draft202012Validator:
    schemas = {path.name: json.loads(path.read_text()) for path in _FOLDER.glob("*.json")}
    contents = ((file, Resource.from_contents(schema)) for file, schema in schemas.items())
    return Draft202012Validator(schemas[f"{name}.json"], registry=Registry().with_resources(contents))
