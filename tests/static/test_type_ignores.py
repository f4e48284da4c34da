"""Suppressed type errors: each names the error and the reason."""

import re

from tests.support.paths import ROOT

_IGNORE = re.compile(r"#\s*type:\s*ignore(?P<rest>.*)")
_CODES_AND_REASON = re.compile(r"\[[a-z-]+(?:, ?[a-z-]+)*\]  # \w.{3,}")


def test_every_type_ignore_has_a_code_and_a_reason():
    bare = [
        f"{file.relative_to(ROOT)}:{number}"
        for package in ("kebab", "search", "ingest")
        for file in sorted((ROOT / package).rglob("*.py"))
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if (found := _IGNORE.search(line)) and not _CODES_AND_REASON.match(found["rest"])
    ]
    assert bare == []
