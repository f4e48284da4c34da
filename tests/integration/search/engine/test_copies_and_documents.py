"""Copies of a text are one hit, near-copies don't fill a page, and hits may be documents."""

from datetime import UTC, datetime

import pytest

from kebab.identity.reader import Reader
from search.engine import search as engine
from search.engine.pages import fetch_next_page
from search.engine.run import run_search
from search.engine.search import search
from search.models import Chunk, Document
from search.retrieval.types import Mode, SearchQuery, Sort
from tests.support.corpus import chunk, write
from tests.support.search import ask, embed, paths, sync

POLICY = "Spare rigging screws are ordered by the workshop every second Monday of a month."
NEAR = (
    "The harbour crane lifts at most four tonnes when the wind is below five Beaufort, its operator must have"
    " a licence, wear gloves, and report any defect of chain or hook to the yard office before noon on"
)


def first_page(workspace, text, **options):
    """Search as a caller who may ask for the next page."""
    return search(workspace, SearchQuery(text=text, **options), caller="x")


def fill_with_copies(workspace):
    for team in range(4):
        write(workspace, f"team{team}/screws.md", POLICY)
    write(workspace, "workshop.md", "The workshop orders rigging screws by hand.")
    sync(workspace)
    embed(workspace)


@pytest.mark.parametrize("mode", list(Mode))
def test_copies_of_a_text_are_one_hit_that_names_the_others(workspace, mode):
    fill_with_copies(workspace)
    first, second = ask(workspace, "rigging screws workshop ordered", mode, k=2).hits
    if first.doc_path == "workshop.md":
        first, second = second, first
    assert second.doc_path == "workshop.md"
    assert second.also_in == ()
    assert {first.doc_path, *first.also_in} == {f"team{team}/screws.md" for team in range(4)}


def test_short_equal_passages_are_not_copies(workspace):
    for name in ("pump", "crane"):
        write(workspace, f"{name}.md", "See above.")
    sync(workspace)
    assert len(ask(workspace, "above", Mode.LEXICAL).hits) == 2


def test_headings_without_text_come_after_text(workspace):
    write(workspace, "template.md", "## Root cause\n\n## Timeline")
    write(
        workspace,
        "disk.md",
        "On Monday a full disk was the root cause, which the timeline of the week shows.",
    )
    sync(workspace)
    embed(workspace)
    assert paths(ask(workspace, "root cause timeline", Mode.HYBRID)) == ["disk.md", "template.md"]


def test_copies_of_a_hit_do_not_appear_on_later_pages(workspace):
    fill_with_copies(workspace)
    first = first_page(workspace, "rigging screws", mode=Mode.LEXICAL, k=1)
    second = fetch_next_page(workspace, first.next_cursor, "x", reader=Reader())
    assert sorted(path.split("/")[-1] for path in paths(first) + paths(second)) == [
        "screws.md",
        "workshop.md",
    ]
    assert second.next_cursor is None


def test_near_copies_leave_room_for_others_on_the_first_page(workspace):
    for number in range(5):
        write(workspace, f"minutes{number}.md", f"{NEAR} day {number}")
    write(workspace, "other.md", "The crane of the museum is older than the harbour.")
    sync(workspace)
    first = first_page(workspace, "harbour crane", mode=Mode.LEXICAL, k=3)
    assert "other.md" in paths(first)
    second = fetch_next_page(workspace, first.next_cursor, "x", reader=Reader())
    assert len({*paths(first), *paths(second)}) == 6


@pytest.mark.parametrize(
    ("text", "sort", "is_reverse"),
    [("harbour crane", Sort.DATE, True), ("harbour crane", Sort.TITLE, False), ("", Sort.TITLE, False)],
)
def test_near_copies_keep_their_place_in_another_order(workspace, text, sort, is_reverse):
    for day in range(1, 6):
        dated = datetime(2026, 1, day, tzinfo=UTC)
        write(workspace, f"{day}.md", f"{NEAR} day {day}", title=f"Minutes {day}", modified_at=dated)
    dated = datetime(2025, 1, 1, tzinfo=UTC)
    write(workspace, "6.md", "The crane of the harbour.", title="Old", modified_at=dated)
    sync(workspace)
    first = first_page(workspace, text, mode=Mode.LEXICAL, k=3, sort=sort)
    second = fetch_next_page(workspace, first.next_cursor, "x", reader=Reader())
    days = [f"{day}.md" for day in range(1, 6)]
    assert [*paths(first), *paths(second)] == [*(reversed(days) if is_reverse else days), "6.md"]


def test_why_not_names_the_hit_of_the_same_text(workspace):
    fill_with_copies(workspace)
    (hit,) = ask(workspace, "rigging screws second", Mode.LEXICAL, k=1).hits
    copy = Document.objects.in_workspace(workspace).get(path=hit.also_in[0])
    verdict = ask(workspace, "rigging screws second", Mode.LEXICAL, k=1, why_not=copy.doc_id.hex).explain
    assert verdict["why_not"]["gate"] == "copy"


@pytest.fixture
def manuals(workspace):
    """Fill a workspace with a manual with four passages on the bilge pump, and two other documents."""
    texts = [
        f"The bilge pump {verb} number {n}." for n, verb in enumerate(("starts", "stops", "leaks", "hums"))
    ]
    passages = [chunk(text, n, heading=f"Part {n}") for n, text in enumerate(texts)]
    write(workspace, "manual.md", *passages, title="Manual")
    write(workspace, "shop.md", "A bilge pump costs much.", title="Shop")
    write(workspace, "log.md", "Nothing but the bilge was dry.", title="Log")
    sync(workspace)
    embed(workspace)
    return workspace


@pytest.mark.parametrize("mode", list(Mode))
def test_documents_are_hits_with_their_best_sections(manuals, mode):
    result = ask(manuals, "bilge pump", mode, group="document", k=3)
    assert len(paths(result)) == len({*paths(result)})
    manual = next(hit for hit in result.hits if hit.doc_path == "manual.md")
    assert len(manual.sections) == 3
    assert manual.section_count == 4
    assert manual.sections[0].chunk_id == manual.chunk_id
    assert [section.citation.start for section in manual.sections] == [
        int(section.section_label.split()[1]) * 10 + 1 for section in manual.sections
    ]


def test_total_counts_documents(manuals):
    assert ask(manuals, "bilge pump", Mode.LEXICAL).lexical_total.value == 5
    assert ask(manuals, "bilge pump", Mode.LEXICAL, group="document").lexical_total.value == 2
    assert ask(manuals, "'bilge AND pump'", Mode.LEXICAL, group="document").lexical_total.value == 2


def test_pages_of_grouped_documents_concatenate_to_the_full_list(manuals):
    whole = first_page(manuals, "bilge pump", group="document", k=10)
    page = first_page(manuals, "bilge pump", group="document", k=1)
    hits = list(page.hits)
    while page.next_cursor is not None:
        page = fetch_next_page(manuals, page.next_cursor, "x", reader=Reader())
        hits += page.hits
    assert [(hit.rank, hit.doc_path, hit.score, hit.section_count) for hit in hits] == [
        (hit.rank, hit.doc_path, hit.score, hit.section_count) for hit in whole.hits
    ]


@pytest.mark.parametrize("options", [{}, {"cutoff": True}, {"per_file_cap": 1}])
def test_documents_are_searched_once(manuals, monkeypatch, options):
    runs = []
    monkeypatch.setattr(
        engine, "run_search", lambda *args, **given: runs.append(run_search(*args, **given)) or runs[-1]
    )
    ask(manuals, "bilge pump", Mode.HYBRID, group="document", **options)
    assert len(runs) == 1


def test_why_not_names_the_document_of_a_section(manuals):
    last = Chunk.objects.in_workspace(manuals).get(section_label="Part 3")
    result = ask(manuals, "bilge pump starts", Mode.LEXICAL, group="document", why_not=last.chunk_id.hex)
    assert result.explain["why_not"]["gate"] == "grouped"
