"""The document page in a real browser: steps between results, the outline, and the head."""

import pytest
from playwright.sync_api import expect

from tests.pages.search.shelf import Passage, index, shelve
from tests.support.browser import needs_browser

pytestmark = needs_browser


@pytest.fixture
def entries(workspace, member, guide):
    for n in range(3):
        shelve(workspace, f"{n}.md", f"entry {n} of the list", title=f"Entry {n}")
    index(workspace)


def test_results_before_and_after_are_a_step_away(open_page, member, entries):
    page = open_page(member)
    page.goto("/w/handbook/search?q=entry+list&mode=lexical")
    titles = page.locator("[data-result] h2 a").all_inner_texts()
    page.locator("[data-result] h2 a").first.click()
    steps = page.get_by_role("navigation", name="Results")
    expect(steps).to_contain_text(f"1 / {len(titles)}")
    steps.locator("[rel=next]").click()

    expect(page.get_by_role("heading", level=1)).to_have_text(titles[1])
    expect(page.locator("mark").first).to_have_text("entry")
    page.get_by_role("link", name="Results for").click()
    expect(page.locator("[data-result] h2 a").first).to_have_text(titles[0])


def test_document_opened_without_a_search_is_without_result_links(open_page, member, entries, guide):
    page = open_page(member)
    page.goto(f"/w/handbook/documents/{guide.doc_id.hex}?q=entry")

    expect(page.get_by_role("heading", level=1)).to_have_text("Deploy guide")
    expect(page.locator("[data-steps]")).to_be_hidden()


@pytest.fixture
def classes(workspace):
    """Return a short file of three classes: scrolled to the second, a window is at the end of the page."""
    lines = [
        "class First:",
        *["    x = 1"] * 8,
        "class Second:",
        *["    y = 1"] * 8,
        "class Third:",
        "    z = 1",
    ]
    passages = [
        Passage(text="x", ordinal=n, heading_path=(name,), spans=[{"kind": "line", "start": at, "end": at}])
        for n, (name, at) in enumerate((("class First", 1), ("class Second", 10), ("class Third", 19)))
    ]
    fields = {"media": "code", "mime": "text/x-python", "passages": passages}
    return shelve(workspace, "a.py", "\n".join(lines), **fields)


def test_outline_marks_the_cited_class_until_the_reader_scrolls(open_page, member, classes):
    page = open_page(member, viewport={"width": 1440, "height": 500})
    page.goto(f"/w/handbook/documents/{classes.doc_id.hex}?start=10&end=18#L10")
    current = page.locator(".outline.aside [aria-current]")
    expect(page.locator("#L10")).to_be_in_viewport()
    page.evaluate("new Promise((done) => setTimeout(done, 200))")
    expect(current).to_have_text("class Second")
    page.mouse.move(600, 300)
    page.mouse.wheel(0, -2_000)

    expect(current).to_have_text("class First")


def test_text_begins_near_the_top_and_the_title_stays_in_sight(open_page, member, workspace):
    text = "\n\n".join(f"Step {n}." for n in range(200))
    document = shelve(workspace, "ops/valves.md", text, title="Valves", tags=("pumps",))
    page = open_page(member, viewport={"width": 1440, "height": 900})
    page.goto(f"/w/handbook/documents/{document.doc_id.hex}?start=3&end=3&q=step")
    assert page.locator(".rendered").bounding_box()["y"] < 200
    page.mouse.move(600, 600)
    page.mouse.wheel(0, 3_000)

    expect(page.get_by_text("Step 0.")).not_to_be_in_viewport()
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
