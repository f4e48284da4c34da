"""Checks of answers in a siege: what counts as a violation, and what is excused."""

import pytest

from tests.drills.crash.siege.answers import NO_ANSWER, Answer, Answers
from tests.drills.crash.siege.clock import now_s
from tests.drills.crash.siege.ledger import Ledger
from tests.drills.crash.siege.outages import GRACE_S, Outage, Outages
from tests.drills.crash.siege.readers import wrong_hits
from tests.drills.crash.siege.texts import key_word, revision_word

_PATH = "note.md"
_ASKED = {"mode": "lexical"}


def write(ledger: Ledger, revision: int | None, *, is_settled: bool = True) -> None:
    word = "" if revision is None else revision_word(1, revision)
    deed = ledger.begin(_PATH, key_word(1), text=None if revision is None else f"has {word}", word=word)
    if is_settled:
        ledger.settle(deed, seq=revision or 9)


def answer(*revisions: int, seq: int = 9) -> dict:
    hits = [
        {"doc_path": _PATH, "chunk_id": str(n), "snippet": f"has {revision_word(1, n)}"} for n in revisions
    ]
    return {"seq": seq, "mode": "lexical", "degraded": [], "hits": hits}


def violations(ledger: Ledger, body: dict, began_s: float) -> list[str]:
    return wrong_hits(ledger, _PATH, body, _ASKED, began_s)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def test_text_that_a_document_has_is_right(ledger):
    write(ledger, 1)
    assert violations(ledger, answer(1), now_s()) == []


def test_text_that_was_replaced_before_the_search_is_wrong(ledger):
    write(ledger, 1)
    write(ledger, 2)
    assert "it had" in violations(ledger, answer(1), now_s())[0]


def test_text_that_was_replaced_during_the_search_is_right(ledger):
    write(ledger, 1)
    began_s = now_s()
    write(ledger, 2)
    assert violations(ledger, answer(1), began_s) == violations(ledger, answer(2), began_s) == []


def test_either_text_is_right_while_a_write_is_not_acknowledged(ledger):
    write(ledger, 1)
    write(ledger, 2, is_settled=False)
    assert violations(ledger, answer(1), now_s()) == violations(ledger, answer(2), now_s()) == []


def test_deleted_document_is_wrong(ledger):
    write(ledger, 1)
    write(ledger, None)
    assert "deleted and found" in violations(ledger, answer(1), now_s())[0]


def test_document_that_is_known_and_not_found_is_wrong(ledger):
    write(ledger, 1)
    assert "is not found" in violations(ledger, answer(), now_s())[0]


def test_document_may_be_missing_from_a_mirror_that_reports_an_earlier_change(ledger):
    write(ledger, 1)
    assert violations(ledger, answer(seq=0), now_s()) == []


def outages(*all_: Outage) -> Outages:
    found = Outages()
    found.all += all_
    return found


def outage(store: str = "postgres", *, began_s: float = 10, ended_s: float | None = 12) -> Outage:
    return Outage(store=store, is_back=bool, began_s=began_s, ended_s=ended_s)


def failures(status: int, *, at_s: float = 11, during: Outages, **more: object) -> list[str]:
    answers = Answers()
    fields = {"has_retry_after": True, "code": "busy", **more}
    answers.record(
        Answer(
            kind="search",
            needs=frozenset({"postgres"}),
            began_s=at_s - 1,
            ended_s=at_s,
            status=status,
            **fields,
        )
    )
    return list(answers.failures(during))


@pytest.mark.parametrize("at_s", [10, 12 + GRACE_S])
def test_refusal_while_a_required_store_is_away_is_excused(at_s):
    assert failures(503, at_s=at_s, during=outages(outage())) == []


@pytest.mark.parametrize("at_s", [9.9, 12.1 + GRACE_S])
def test_refusal_at_another_time_is_a_failure(at_s):
    assert failures(503, at_s=at_s, during=outages(outage()))


def test_refusal_while_another_store_is_away_is_a_failure():
    assert failures(503, during=outages(outage("redis")))


def test_refusal_without_retry_after_is_a_failure():
    assert failures(503, has_retry_after=False, during=outages(outage()))


@pytest.mark.parametrize("status", [500, 502, 504])
def test_other_errors_are_always_failures(status):
    assert failures(status, during=outages(outage()))


def test_missing_answer_is_excused_only_while_the_web_process_is_away():
    assert failures(NO_ANSWER, code="ConnectError", during=outages(outage("web"))) == []
    assert failures(NO_ANSWER, code="ConnectError", during=outages(outage()))
    assert failures(NO_ANSWER, code="ReadTimeout", during=outages(outage("web")))


def test_overload_is_excused_only_just_after_a_restart_of_the_web_process():
    assert failures(503, code="overloaded", during=outages(outage("web"))) == []
    assert failures(503, code="overloaded", at_s=30, during=outages(outage("web")))
    assert failures(503, code="database_unavailable", during=outages(outage("web")))
