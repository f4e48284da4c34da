"""Preference for a newer document that says as much about the same subject."""

import uuid
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from search.analysis import STEMMED
from search.answers.answerability import weigh_words
from search.answers.extract import extract, leave_out_amended
from search.answers.passages import Passage, terms_of
from search.answers.quotes import Origin

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def passage(title, text, *, days=0, version=None, path="x.md"):
    return Passage(
        hit=SimpleNamespace(doc_id=uuid.uuid4().hex, version=version, n=1, score=0.5),
        text=text,
        terms=terms_of(f"{title}\n{text}", STEMMED),
        closeness=None,
        origin=Origin(path=path, title=title),
        dated_at=NOW + timedelta(days=days),
    )


def select_newest(question, *passages):
    words = weigh_words(question, STEMMED, lambda terms: {}, 1_000)
    return leave_out_amended(passages, words, STEMMED)


def test_later_date_version_or_stated_year_is_preferred():
    for older, newer in [
        (
            passage("Travel rules", "hotel limit 100"),
            passage("Change of the travel rules", "hotel limit 130", days=90),
        ),
        (
            passage("Reiseregeln", "hotel limit 100"),
            passage("Nachtrag Reiseregeln", "hotel limit 130", days=90),
        ),
        (
            passage("Travel rules", "hotel limit 100", version="v1.9", days=9),
            passage("Travel rules", "hotel limit 130", version="v1.10"),
        ),
        (
            passage("Travel rules 2023", "hotel limit 1", days=9),
            passage("Travel rules 2025", "hotel limit 2"),
        ),
    ]:
        for passages in ((older, newer), (newer, older)):
            assert select_newest("hotel limit", *passages) == [newer]


def test_newest_of_several_is_preferred():
    passages = [passage("Travel rules", "hotel limit", days=days) for days in (0, 700, 300)]
    assert select_newest("hotel limit", *passages) == [passages[1]]


def test_newer_document_about_less_or_another_subject_amends_nothing():
    older = passage("Travel rules", "hotel limit 100")
    for other in (
        passage("Travel rules", "limit of trains", days=90),
        passage("Trade fairs", "hotel limit 130", days=90),
        passage("Travel rules", "hotel limit 130"),
    ):
        assert select_newest("hotel limit", older, other) == [older, other]


SECTIONS = """Staff who work part time get a share.

## Requesting time off

Ask your lead. Two weeks before.

## Carry over

Five days."""


def test_heading_as_a_question_is_answered_by_its_section():
    for question, quoted in {
        "Vacation: Requesting time off": ["Ask your lead.", "Two weeks before."],
        "carry over": ["Five days."],
        "Vacation": ["Staff who work part time get a share."],
    }.items():
        passages = [passage("Vacation", SECTIONS)]
        found = SimpleNamespace(
            question=SimpleNamespace(asking=question),
            passages=passages,
            analysis=STEMMED,
            words=weigh_words(question, STEMMED, lambda terms: {}, 1_000),
            nearest=None,
        )
        assert [each.quote.lead for each in extract(found)] == quoted
