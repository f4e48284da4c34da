"""Kinds of sources are declared once and completely."""

from ingest.connectors.kinds import KINDS
from search.models import SourceKind


def test_every_kind_is_declared():
    assert {*KINDS} == {*SourceKind.values}


def test_inputs_of_a_kind_have_names_of_their_own(subtests):
    common = {"title", "key", "description", "tags", "trust", "schedule", "watch", "readers", "is_restricted"}
    for kind in KINDS.values():
        with subtests.test(kind=kind.kind):
            inputs = [field.input for field in kind.fields if field.label]
            assert sorted({*inputs} - common) == sorted(inputs)
            assert {*kind.main_inputs} <= {*inputs}
