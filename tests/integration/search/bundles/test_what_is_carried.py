"""Every model, and every field of those that a bundle holds, was decided on; so was what is not carried."""

import re

import pytest
from django.apps import apps

from search.bundles.sections import NOT_CARRIED, SECTIONS_BY_NAME
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "bundles.md"
# Of the whole installation, and of other packages' own.
_OURS = ("people", "search", "ingest")
# What stands for a field here, by the field that it stands for.
_STANDS_FOR = {"source_number": "source", "group_number": "group", "version_number": "version"}
_STANDS_FOR |= {"topic_number": "topic", "run_number": "run"}


def models():
    return [model for label in _OURS for model in apps.get_app_config(label).get_models()]


@pytest.mark.parametrize("model", models(), ids=lambda model: model._meta.label)
def test_each_model_was_decided_on(model):
    carried = {section.model for section in SECTIONS_BY_NAME.values()}

    assert (model in carried) != (model._meta.label in NOT_CARRIED), (
        "say in search/bundles/sections.py, and in docs/bundles.md, whether a bundle holds its rows"
    )


@pytest.mark.parametrize("name", SECTIONS_BY_NAME)
def test_each_field_was_decided_on(name):
    section = SECTIONS_BY_NAME[name]
    fields = {field.name for field in section.model._meta.concrete_fields} - {"pk"}
    carried = {_STANDS_FOR.get(field, field) for field in section.fields}

    assert carried | section.left.keys() - {"id"} >= fields - {"id"}
    assert not carried & section.left.keys()
    assert (carried | section.left.keys()) <= fields


def test_no_model_is_named_that_is_none():
    known = {model._meta.label for model in models()}

    assert NOT_CARRIED.keys() <= known


def test_the_page_names_each_model():
    page = PAGE.read_text()
    named = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))

    assert named == {model.__name__ for model in models()}


def test_no_field_that_holds_a_secret_is_carried():
    carried = {name for section in SECTIONS_BY_NAME.values() for name in section.fields}

    assert not any("secret" in name or "credential" in name for name in carried)
