"""Answers from passages in another language than the question."""

import pytest

from search.embedders import configured
from tests.integration.search.context.workspace_files import index
from tests.support.corpus import write
from tests.support.search import embed
from tests.support.translating_embedder import use_translating_embedder


@pytest.fixture
def pages(workspace, monkeypatch):
    use_translating_embedder(monkeypatch)
    write(
        workspace,
        "leave.md",
        "# Leave\n\nThe office has plants.\n\nEmployees have thirty holidays.",
        lang="en",
    )
    for name, text in (("canteen", "The canteen opens at noon."), ("goods", "Goods can be sent back."),
                       ("vpn", "Choose the gateway in Vienna.")):  # fmt: skip
        write(workspace, f"{name}.md", text, lang="en")
    index(workspace)
    embed(workspace)
    workspace.refresh_from_db()
    yield workspace
    configured.clear_query_caches()


def test_sentence_nearest_in_meaning_is_quoted_in_its_own_language(pages, ask):
    answer = ask("Wie viele Urlaubstage haben Mitarbeiter?")
    assert (answer["state"], answer["reason"]) == ("extractive", None)
    assert [each["quote"] for each in answer["citations"]] == ["Employees have thirty holidays."]


def test_question_about_nothing_there_is_refused(pages, ask):
    answer = ask("Wer repariert eigentlich die Heizung im Keller?")
    assert (answer["state"], answer["reason"]) == ("refused", "not_covered")
