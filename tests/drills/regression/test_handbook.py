"""Searches of the made-up handbook find the right documents, and typed titles are shown."""

import pytest

from search.models import Document
from tests.drills.evaluation.handbook import (
    PUBLISHED,
    SHOWN,
    TYPED_TITLES,
    ask_queries,
    query_lines,
    read_queries,
    share_found,
    type_titles,
)

DOCUMENTS = QUERIES = 100


def test_queries_name_documents_of_the_handbook():
    files = {each.relative_to(PUBLISHED / "files").as_posix() for each in PUBLISHED.rglob("files/**/*.*")}
    queries = read_queries()
    assert len(files) == DOCUMENTS
    assert len({each.text for each in queries}) == len(queries) == QUERIES
    assert {path for each in queries for path in each.paths} <= files


@pytest.mark.slow
@pytest.mark.django_db
def test_queries_find_their_documents_among_the_first(handbook_workspace):
    assert Document.objects.in_workspace(handbook_workspace).count() == DOCUMENTS
    results = ask_queries(handbook_workspace, read_queries())
    report = "\n".join(query_lines(results))
    assert share_found(results, 1) >= 0.93, report
    assert share_found(results, SHOWN) >= 0.97, report


@pytest.mark.slow
@pytest.mark.django_db
def test_each_prefix_of_a_title_shows_it(handbook_workspace):
    typed = list(type_titles(handbook_workspace))
    assert len({each.title for each in typed}) == TYPED_TITLES
    assert [each.typed for each in typed if not each.is_shown] == []
