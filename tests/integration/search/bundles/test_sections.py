"""Every model and field is either part of bundles or explicitly left out."""

import json
import re
from pathlib import Path

from django.apps import apps

from search.bundles.format.sections import SECTIONS_BY_NAME, section_rows
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "bundles.md"
_OURS = ("people", "search", "ingest", "webhooks")
# The field that a bundle's number stands for.
_STANDS_FOR = {f"{name}_number": name for name in ("source", "group", "version", "topic", "run")}


def models():
    return [model for label in _OURS for model in apps.get_app_config(label).get_models()]


def test_page_says_of_each_model_whether_it_is_carried():
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE.read_text(), re.MULTILINE))
    carried = {section.model for section in SECTIONS_BY_NAME.values()}
    assert {name: what != "no" for name, what in rows.items()} == {
        model.__name__: model in carried for model in models()
    }


def test_each_field_is_carried_or_named_as_left_out(subtests):
    for name, section in SECTIONS_BY_NAME.items():
        fields = {field.name for field in section.model._meta.concrete_fields} - {"pk"}
        carried = {_STANDS_FOR.get(field, field) for field in section.fields}
        with subtests.test(section=name):
            assert carried | section.omitted.keys() - {"id"} >= fields - {"id"}
            assert not carried & section.omitted.keys()
            assert (carried | section.omitted.keys()) <= fields


def test_rows_of_the_format_stay_as_they_are(subtests):
    """A bundle of today's models is read by earlier releases, and theirs by this one."""
    stored = json.loads((Path(__file__).parent / "format_1.json").read_text())
    for name, section in SECTIONS_BY_NAME.items():
        schema = section_rows(name).json_schema() if section.fields else {}
        types = schema.get("properties", {})
        for type_ in types.values():
            del type_["title"]
        with subtests.test(section=name):
            assert types == stored.get(name, {})


def test_no_field_with_a_secret_is_carried():
    carried = {name for section in SECTIONS_BY_NAME.values() for name in section.fields}
    assert not any("secret" in name or "credential" in name for name in carried)
