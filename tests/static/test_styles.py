"""Style sheets close what they open: browsers repair the rest, and drop the rules behind it."""

import re

import pytest

from tests.support.paths import ROOT

_SHEETS = sorted(
    sheet for package in ("ingest", "kebab", "search") for sheet in (ROOT / package).rglob("static/**/*.css")
)
_COMMENT_OR_STRING = re.compile(r"/\*.*?\*/|\"[^\"]*\"|'[^']*'", re.DOTALL)


@pytest.mark.parametrize("sheet", _SHEETS, ids=lambda sheet: sheet.name)
def test_braces_are_in_pairs(sheet):
    depth = 0
    for brace in re.findall("[{}]", _COMMENT_OR_STRING.sub("", sheet.read_text(encoding="utf-8"))):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
