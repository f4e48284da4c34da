"""Checks after a siege detect lists and searches that differ from the acknowledged writes."""

import httpx
import pytest

from tests.drills.crash.siege.aftermath import documents_equal_the_ledger, searches_equal_the_ledger
from tests.drills.crash.siege.ledger import Ledger
from tests.drills.crash.siege.texts import key_word, revision_word

_PRESENT, _DELETED = "kept.md", "deleted.md"
_TEXT = f"has {key_word(1)} {revision_word(1, 1)}"


class Door:
    """Lists these texts by path, and finds each by its first word."""

    def __init__(self, *listed: tuple[str, str]) -> None:
        self._listed = listed

    def ask(self, kind: str, method: str, path: str, **options: object) -> httpx.Response:
        if kind == "list":
            rows = [{"id": str(number), "path": path} for number, (path, _) in enumerate(self._listed)]
            return httpx.Response(200, json={"results": rows, "next_cursor": None})
        if kind == "read":
            return httpx.Response(200, text=self._listed[int(path.split("/")[2])][1])
        hits = [{"doc_path": path, "snippet": text} for path, text in self._listed]
        return httpx.Response(200, json={"hits": hits})


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger()
    for path, number, texts in ((_PRESENT, 1, [_TEXT]), (_DELETED, 2, ["has", None])):
        for text in texts:
            deed = ledger.begin(path, key_word(number), text=text, word=revision_word(number, 1))
            ledger.settle(deed, 1)
    return ledger


def test_list_that_equals_the_acknowledged_writes_passes(ledger):
    assert list(documents_equal_the_ledger(Door((_PRESENT, _TEXT)), ledger)) == []
    assert list(searches_equal_the_ledger(Door((_PRESENT, _TEXT)), ledger)) == []


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([], "lost"),
        ([(_PRESENT, _TEXT), (_PRESENT, _TEXT)], "listed twice"),
        ([(_PRESENT, _TEXT), (_DELETED, "has")], "deleted and listed"),
        ([(_PRESENT, _TEXT), ("other.md", "has")], "never written"),
        ([(_PRESENT, f"has {revision_word(1, 2)}")], "another text"),
    ],
)
def test_list_that_differs_from_the_acknowledged_writes_is_reported(ledger, listed, expected):
    (found,) = documents_equal_the_ledger(Door(*listed), ledger)
    assert expected in found


@pytest.mark.parametrize("listed", [[], [(_PRESENT, revision_word(1, 2))], [(_PRESENT, f"{_TEXT} rcvbbb")]])
def test_search_that_shows_another_text_or_none_is_reported(ledger, listed):
    assert list(searches_equal_the_ledger(Door(*listed), ledger))
