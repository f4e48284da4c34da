"""What is suggested while somebody types: titles, headings and words that they may see."""

import pytest

from kebab.people.reader import Reader
from search.models import Chunk, Document
from search.suggest import MAX_LIMIT, suggest
from tests.support.corpus import chunk, write
from tests.support.searching import sync


def texts(workspace, typed, kind=None, **options):
    found = suggest(workspace, typed, reader=Reader(), **options).suggestions
    return [each.text for each in found if kind in (None, each.kind)]


def section(title, heading, text="Some text.", ordinal=0):
    return chunk(text, ordinal, heading=heading, breadcrumb=f"{title} > {heading}", heading_path=(heading,))


@pytest.fixture
def corpus(workspace):
    first = section("Pushing changes", "push_back", "Use pushback to push.", 0)
    second = section("Pushing changes", "How to pull", "Pulling brings pushed changes.", 1)
    write(workspace, "b/push.md", first, second, title="Pushing changes")
    write(workspace, "a.md", section("The push guide", "rateLimit()"), title="The push guide")
    write(workspace, "c.md", section("部署指南", "设定方法", "阅读部署指南。"), title="部署指南", lang="zh")
    write(workspace, "d.md", section("Écran", "Élan", "Un écran large."), title="Écran")
    sync(workspace)
    return workspace


def test_titles_come_first_then_headings_then_words(corpus):
    found = suggest(corpus, "push", reader=Reader()).suggestions

    assert [(each.kind, each.text) for each in found] == [
        ("title", "Pushing changes"),
        ("title", "The push guide"),
        ("heading", "push_back"),
        ("word", "pushing"),
        ("word", "pushback"),
    ]


def test_a_suggestion_leads_to_its_document(corpus):
    document = Document.objects.in_workspace(corpus).get(path="b/push.md")
    title, _, heading, *words = suggest(corpus, "push", reader=Reader()).suggestions

    assert (title.doc_id, title.doc_path, title.chunk_id) == (document.doc_id.hex, "b/push.md", None)
    chunk_id = Chunk.objects.in_workspace(corpus).get(section_label="push_back").chunk_id.hex
    assert (heading.doc_id, heading.chunk_id) == (document.doc_id.hex, chunk_id)
    assert {(word.doc_id, word.doc_path, word.chunk_id) for word in words} == {(None, None, None)}


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("p", "Pushing changes"),
        ("PUSHING ch", "Pushing changes"),
        ("ch pu", "Pushing changes"),
        ("back", "push_back"),
        ("limit", "rateLimit()"),
        ("rateLimit(", "rateLimit()"),
        ("pushi", "Pushing changes"),
        ("部", "部署指南"),
        ("署", "部署指南"),
        ("部署指", "部署指南"),
        ("ecr", "Écran"),
        ("écr", "Écran"),
        ("How to pu", "How to pull"),
        ("use pushb", "use pushback"),
    ],
)
def test_what_begins_as_typed_is_suggested(corpus, typed, expected):
    assert expected in texts(corpus, typed)


@pytest.mark.parametrize(
    "typed", ["", " ", "(", "ushing", "zzz", "push zzz", "\x00", "\ud800", "%", "_", '"']
)
def test_nothing_is_suggested_for_what_begins_nothing(corpus, typed):
    assert texts(corpus, typed) == []


def test_wildcards_of_sql_are_letters(corpus):
    write(corpus, "e.md", "text", title="100% sure")
    sync(corpus)

    assert "100% sure" in texts(corpus, "100%")
    assert "100% sure" not in texts(corpus, "1%0")


def test_the_limit_holds_and_a_third_of_the_places_is_for_words(corpus):
    for number in range(9):
        write(corpus, f"more/{number}.md", f"pushable{number}", title=f"Push {number}")
    sync(corpus)

    assert len(texts(corpus, "push", limit=6)) == 6
    assert len(texts(corpus, "push", "word", limit=6)) == 2
    assert len(texts(corpus, "push", limit=1)) == 1
    assert len(texts(corpus, "push", limit=MAX_LIMIT)) > 10


def test_a_text_is_suggested_once_with_the_first_path(corpus):
    for path in ("y.md", "x.md"):
        write(corpus, path, section("PUSH", "Same"), title="PUSH")
    sync(corpus)
    found = [each for each in suggest(corpus, "pus", reader=Reader()).suggestions if each.text == "PUSH"]

    assert [each.doc_path for each in found] == ["x.md"]


def test_the_same_is_suggested_again(corpus):
    assert suggest(corpus, "p", reader=Reader()) == suggest(corpus, "p", reader=Reader())


def test_other_versions_are_not_suggested(corpus):
    write(corpus, "hidden.md", section("Pushover", "pushpin", "pushchair"), title="Pushover", version="v2")
    sync(corpus)

    assert not {"Pushover", "pushpin", "pushchair"} & set(texts(corpus, "push", limit=MAX_LIMIT))


def test_another_workspace_is_not_suggested(corpus, django_db_blocker):
    from tests.support.corpus import make_workspace

    other = make_workspace()
    write(other, "secret.md", section("Pushkin", "pushka", "pushy"), title="Pushkin")
    sync(other)

    assert not {"Pushkin", "pushka", "pushy"} & set(texts(corpus, "push", limit=MAX_LIMIT))


def test_what_postgres_has_no_more_is_not_suggested(corpus):
    Chunk.objects.in_workspace(corpus).filter(section_label="push_back").delete()
    found = texts(corpus, "push", limit=MAX_LIMIT)

    assert not {"push_back", "pushback"} & set(found)
    assert "Pushing changes" in found


def test_without_a_mirror_there_are_titles(workspace, monkeypatch):
    from search import node

    monkeypatch.setattr(node, "build_mirror", lambda workspace_id, limit_s: None)
    write(workspace, "a.md", section("Pushing", "push_back"), title="Pushing")
    found = suggest(workspace, "push", reader=Reader())

    assert (found.degraded, [each.text for each in found.suggestions]) == (("lexical",), ["Pushing"])
