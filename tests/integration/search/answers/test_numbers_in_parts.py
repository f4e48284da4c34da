"""Pages that differ by a date, clause, host, version, invoice or part number are told apart by it."""

import pytest

from tests.integration.search.context.workspace_files import index, put_file
from tests.support.numbered_pages import absent_questions, numbered_pages
from tests.support.search import ask as find
from tests.support.search import embed, paths

PAGES = numbered_pages()
#: Share of the queries that find their page first, and of the questions that are answered with its figure.
LEAST_SHARE = 0.98


@pytest.fixture
def pages(workspace):
    """Return a workspace with the pages, and their vectors."""
    for each in PAGES:
        put_file(workspace, each.path, each.text)
    index(workspace)
    embed(workspace)
    workspace.refresh_from_db()
    return workspace


@pytest.mark.slow
def test_page_is_first_for_its_number_in_another_notation_and_answers_with_its_figure(pages, ask):
    found = {each.path: paths(find(pages, each.query, "hybrid", k=3))[:1] for each in PAGES}
    wrong = [(each.path, each.query, found[each.path]) for each in PAGES if found[each.path] != [each.path]]
    assert len(PAGES) == 200
    assert len(wrong) <= (1 - LEAST_SHARE) * len(PAGES), wrong

    asked = PAGES[::2]
    answers = {each.path: ask(each.question)["text"] for each in asked}
    strange = [
        (each.question, answers[each.path])
        for each in asked
        if any(other.figure in answers[each.path] for other in PAGES if other != each)
    ]
    missed = [(each.question, answers[each.path]) for each in asked if each.figure not in answers[each.path]]
    assert not strange
    assert len(missed) <= (1 - LEAST_SHARE) * len(asked), missed
    wrongly = {question: ask(question)["text"] for question in absent_questions()}
    assert not any(wrongly.values()), wrongly
