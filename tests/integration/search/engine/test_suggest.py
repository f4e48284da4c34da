"""Suggestions while a user types: titles, headings and words that they may see."""

from kebab.identity.reader import Reader
from search.engine.suggest import MAX_LIMIT, suggest
from search.mirror import local_mirrors
from search.models import Chunk, Document
from tests.support.corpus import chunk, make_workspace, write
from tests.support.search import sync

BEGINNINGS = {
    "p": "Pushing changes",
    "PUSHING ch": "Pushing changes",
    "ch pu": "Pushing changes",
    "back": "push_back",
    "limit": "rateLimit()",
    "rateLimit(": "rateLimit()",
    "pushi": "Pushing changes",
    "部": "部署指南",
    "署": "部署指南",
    "部署指": "部署指南",
    "ecr": "Écran",
    "écr": "Écran",
    "How to pu": "How to pull",
    "use pushb": "use pushback",
    "100%": "100% sure",
}
NO_BEGINNINGS = ["", " ", "(", "ushing", "zzz", "push zzz", "\x00", "\ud800", "%", "_", '"', "1%0", "hidd"]


def section(title, heading, text="Some text.", ordinal=0):
    return chunk(text, ordinal, heading=heading, breadcrumb=f"{title} > {heading}", heading_path=(heading,))


def fill(workspace):
    first = section("Pushing changes", "push_back", "Use pushback to push.", 0)
    second = section("Pushing changes", "How to pull", "Pulling brings pushed changes.", 1)
    write(workspace, "b/push.md", first, second, title="Pushing changes")
    write(workspace, "a.md", section("The push guide", "rateLimit()"), title="The push guide")
    write(workspace, "c.md", section("部署指南", "设定方法", "阅读部署指南。"), title="部署指南", lang="zh")
    write(workspace, "d.md", section("Écran", "Élan", "Un écran large."), title="Écran")
    write(workspace, "e.md", "text", title="100% sure")
    hidden = section("Hiddenness", "hiddenpin", "hiddenchair")
    write(workspace, "hidden.md", hidden, title="Hiddenness", version="v2")
    for path in ("y.md", "x.md"):
        write(workspace, path, section("TWICE", "Same"), title="TWICE")


def texts(workspace, typed, kind=None, **options):
    found = suggest(workspace, typed, reader=Reader(), **options).suggestions
    return [each.text for each in found if kind in (None, each.kind)]


def test_titles_come_first_then_headings_then_words_each_with_its_place(filled):
    found = suggest(filled, "push", reader=Reader()).suggestions
    assert [(each.kind, each.text) for each in found] == [
        ("title", "Pushing changes"),
        ("title", "The push guide"),
        ("heading", "push_back"),
        ("word", "pushing"),
        ("word", "pushback"),
    ]
    title, _, heading, *words = found
    document = Document.objects.in_workspace(filled).get(path="b/push.md")
    assert (title.doc_id, title.doc_path, title.chunk_id) == (document.doc_id.hex, "b/push.md", None)
    chunk_id = Chunk.objects.in_workspace(filled).get(section_label="push_back").chunk_id.hex
    assert (heading.doc_id, heading.chunk_id) == (document.doc_id.hex, chunk_id)
    assert {(word.doc_id, word.doc_path, word.chunk_id) for word in words} == {(None, None, None)}
    assert suggest(filled, "push", reader=Reader()).suggestions == found


def test_completions_of_the_typed_text_are_suggested(filled, subtests):
    for typed, expected in BEGINNINGS.items():
        with subtests.test(typed=typed):
            assert expected in texts(filled, typed)


def test_text_without_completions_gets_no_suggestions(filled, subtests):
    for typed in NO_BEGINNINGS:
        with subtests.test(typed=typed):
            assert texts(filled, typed) == []


def test_text_is_suggested_once_with_the_first_path(filled):
    found = [each for each in suggest(filled, "twi", reader=Reader()).suggestions if each.kind == "title"]
    assert [(each.text, each.doc_path) for each in found] == [("TWICE", "x.md")]


def test_text_that_postgres_no_longer_has_is_not_suggested(filled):
    Chunk.objects.in_workspace(filled).filter(section_label="push_back").delete()
    found = texts(filled, "push", limit=MAX_LIMIT)
    assert not {"push_back", "pushback"} & set(found)
    assert "Pushing changes" in found


def test_limit_holds_and_a_third_of_the_places_is_for_words(workspace):
    fill(workspace)
    for number in range(9):
        write(workspace, f"more/{number}.md", f"pushable{number}", title=f"Push {number}")
    sync(workspace)
    assert len(texts(workspace, "push", limit=6)) == 6
    assert len(texts(workspace, "push", "word", limit=6)) == 2
    assert len(texts(workspace, "push", limit=1)) == 1
    assert len(texts(workspace, "push", limit=MAX_LIMIT)) > 10


def test_another_workspace_is_not_suggested(workspace):
    other = make_workspace()
    write(other, "secret.md", section("Pushkin", "pushka", "pushy"), title="Pushkin")
    write(workspace, "a.md", section("Pushing", "push_back"), title="Pushing")
    for each in (workspace, other):
        sync(each)
    assert texts(workspace, "push", limit=MAX_LIMIT) == ["Pushing", "push_back", "pushing"]
    assert {"Pushkin", "pushka", "pushy"} <= set(texts(other, "push", limit=MAX_LIMIT))


def test_titles_are_suggested_without_a_mirror(workspace, monkeypatch):
    monkeypatch.setattr(local_mirrors, "build_mirror", lambda workspace_id, limit_s: None)
    write(workspace, "a.md", section("Pushing", "push_back"), title="Pushing")
    found = suggest(workspace, "push", reader=Reader())
    assert (found.degraded, [each.text for each in found.suggestions]) == (("lexical",), ["Pushing"])
