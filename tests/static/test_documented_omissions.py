"""The table of omissions in the documentation equals the kinds, and the readers that report them."""

import re

from search.documents.omissions import OMISSION_KINDS, READ_IN_PART
from tests.support.paths import ROOT

_ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| ([\w, ]*) ?\|", re.MULTILINE)
_REPORTED = re.compile(r"(?:omitted\(\s*|kind=|return )\"(\w+)\"")


def test_documented_omissions_equal_the_kinds_and_their_readers():
    text = (
        (ROOT / "docs" / "formats.md").read_text().partition("## What is left out")[2].partition("\n## ")[0]
    )
    documented = {kind: (unit, readers.strip()) for kind, unit, readers in _ROW.findall(text)}
    assert list(documented) == list(OMISSION_KINDS)
    assert documented == {
        kind: (OMISSION_KINDS[kind].unit, ", ".join(sorted(readers)))
        for kind, readers in reporting_readers().items()
    }


def reporting_readers():
    """Return the folders of parsers that report each kind; `any` for what is done whatever the parser."""
    parsers = ROOT / "ingest" / "parsers"
    found = {kind: set() for kind in OMISSION_KINDS}
    found[READ_IN_PART] = {"markup", "office"}
    for path in parsers.rglob("*.py"):
        folder, *below = path.relative_to(parsers).parts
        family = folder if below else "any"
        for kind in OMISSION_KINDS.keys() & set(_REPORTED.findall(path.read_text())):
            found[kind].add("any" if family == "registry.py" else family)
    return found
