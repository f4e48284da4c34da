"""Search in a real browser: as you type, by keyboard, and copied citations."""

import re

import pytest
from playwright.sync_api import expect

from search.models import Feedback
from tests.pages.search.shelf import index, shelve
from tests.support.browser import WATCH_THE_COPY, needs_browser, session_cookie

pytestmark = needs_browser


@pytest.fixture
def list_of_entries(workspace, member, guide):
    for n in range(30):
        shelve(workspace, f"{n}.md", f"entry {n} of the list")
    index(workspace)


@pytest.fixture
def tagged_entries(workspace, member, guide):
    for tag in ("old", "new"):
        shelve(workspace, f"{tag}.md", f"an entry of the {tag}", tags=(tag,))
    index(workspace)


def hit_links(page):
    return page.locator(".hit h2 a")


def test_hits_come_as_one_types_and_the_address_is_replaced(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/search")
    steps = page.evaluate("history.length")
    page.get_by_role("searchbox").press_sequentially("restart workers")

    expect(page.get_by_role("article").first).to_contain_text("Deploy guide")
    expect(page).to_have_url(re.compile(r"\?q=restart\+workers&"))
    expect(page).to_have_title(re.compile("^restart workers"))
    expect(page.get_by_role("searchbox")).to_be_focused()
    expect(page.locator("#count")).to_have_text(re.compile(r"^\d+ hits?$"))
    assert page.evaluate("history.length") == steps
    page.reload()
    expect(page.get_by_role("article").first).to_contain_text("Deploy guide")


def test_only_the_last_of_quick_keystrokes_is_sent(open_page, member, guide):
    page, asked = open_page(member), []
    page.goto("/w/handbook/search")
    page.on("request", lambda request: "/search?q=" in request.url and asked.append(request.url))
    page.get_by_role("searchbox").press_sequentially("restart", delay=5)

    expect(page).to_have_url(re.compile("q=restart&"))
    assert len(asked) < len("restart")
    assert re.search("q=restart(&|$)", asked[-1])


def test_the_box_is_emptied_and_the_hits_go(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/search?q=restart")
    page.get_by_role("searchbox").fill("")

    expect(page.get_by_role("article")).to_have_count(0)
    expect(page).to_have_url(re.compile("/search$"))


def test_arrows_move_through_the_hits_enter_opens_escape_goes_back(open_page, member, list_of_entries):
    page = open_page(member)
    page.goto("/w/handbook/search?q=entry&mode=lexical")
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    expect(hit_links(page).nth(0)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("searchbox")).to_be_focused()
    for _ in range(20):
        page.keyboard.press("ArrowDown")
    expect(hit_links(page).nth(9)).to_be_focused()
    expect(hit_links(page).nth(9)).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile("/documents/"))


def test_filters_are_counted_after_the_hits_and_shown_beside_them(open_page, member, tagged_entries):
    page = open_page(member, viewport={"width": 1440, "height": 900})
    page.goto("/w/handbook/search")
    page.get_by_role("searchbox").press_sequentially("entry")
    page.get_by_role("link", name=re.compile("^old 1")).click()

    expect(page.get_by_role("article")).to_have_count(1)
    page.get_by_role("searchbox").fill("entry of")
    expect(page).to_have_url(re.compile("q=entry\\+of&.*tags_any=old"))
    page.get_by_role("link", name="Remove Tag: old").click()
    expect(page.get_by_role("article").filter(has_text="new.md")).to_have_count(1)


def test_on_a_phone_filters_open_when_asked(open_page, member, tagged_entries):
    page = open_page(member, viewport={"width": 390, "height": 800})
    page.goto("/w/handbook/search?q=entry")
    value = page.get_by_role("link", name=re.compile("^old 1"))
    expect(value).to_be_hidden()
    page.get_by_text("Filters", exact=True).click()
    expect(value).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_more_hits_are_appended_and_the_keyboard_goes_on_with_them(open_page, member, list_of_entries):
    page = open_page(member)
    page.goto("/w/handbook/search?q=entry&mode=lexical")
    page.get_by_role("link", name="More hits").press("Enter")
    expect(hit_links(page)).to_have_count(20)
    expect(hit_links(page).nth(10)).to_be_focused()
    page.get_by_role("link", name="More hits").press("Enter")
    expect(hit_links(page)).to_have_count(30)

    expect(page.get_by_text("No more hits.")).to_be_visible()
    ids = page.locator(".hit h2").evaluate_all("all => all.map(each => each.id)")
    assert len(set(ids)) == 30


def test_a_vote_is_kept_in_its_place(open_page, member, workspace, guide):
    page = open_page(member)
    page.goto("/w/handbook/search?q=restart&mode=lexical")
    page.get_by_role("button", name="Hit 1 answers the query").click()

    expect(page.get_by_role("button", name="Hit 1 answers the query", pressed=True)).to_be_focused()
    expect(page.locator("#count")).to_have_text("Noted: hit 1 answers the query.")
    assert Feedback.objects.in_workspace(workspace).get().is_relevant


def test_more_hits_and_votes_need_no_javascript(open_page, member, workspace, list_of_entries):
    page = open_page(member, java_script_enabled=False)
    page.goto("/w/handbook/search?q=entry&mode=lexical")
    page.get_by_role("link", name="More hits").click()
    expect(page.locator("#hit-20")).to_be_visible()
    page.get_by_role("button", name="Hit 11 doesn’t answer the query").click()

    expect(page.get_by_text(re.compile(r"Noted: \d+\.md"))).to_be_visible()
    expect(page.locator("#hit-11")).to_be_in_viewport()
    assert not Feedback.objects.in_workspace(workspace).get().is_relevant


def test_a_citation_is_copied_and_that_is_said(open_page, member, guide):
    page = open_page(member, permissions=["clipboard-read", "clipboard-write"])
    page.goto("/w/handbook/search?q=restart")
    page.evaluate(WATCH_THE_COPY)
    page.get_by_role("button", name=re.compile("^Copy the citation")).first.click()

    assert page.evaluate("window.isSaid")
    assert page.evaluate("navigator.clipboard.readText()") == "ops/deploy.md#L3"


def test_a_document_gives_the_citation_of_its_cited_place(open_page, member, guide):
    page = open_page(member, permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"/w/handbook/documents/{guide.doc_id.hex}?start=3&end=3")
    page.get_by_role("button", name="Copy the citation").click()

    expect(page.get_by_role("status")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "ops/deploy.md#L3"


@pytest.fixture
def unwatched_page(browser, live_server, member):
    """Yield a page on whose console messages are allowed, as browsers report refusals there."""
    context = browser.new_context(base_url=live_server.url)
    context.add_cookies([session_cookie(member, live_server.url)])
    yield context.new_page()
    context.close()


def answer_with(status):
    """Return a route handler that answers with `status`, or aborts the request for None."""
    return lambda route: route.abort() if status is None else route.fulfill(status=status, body="<p>no</p>")


def test_hits_that_cannot_be_fetched_are_said_while_the_former_stay(unwatched_page, guide):
    page = unwatched_page
    page.goto("/w/handbook/search?q=restart&mode=lexical")
    for status in (None, 404, 429, 500):
        page.route("**/search?**", answer_with(status))
        page.get_by_role("searchbox").fill(f"workers {status}")

        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.get_by_role("article")).to_have_count(1)
        page.unroute("**/search?**")
        page.get_by_role("searchbox").fill("roll back")
        expect(page.locator("#undone")).to_be_hidden()


def test_a_vote_that_is_refused_is_said(unwatched_page, workspace, guide):
    page = unwatched_page
    page.goto("/w/handbook/search?q=restart&mode=lexical")
    page.locator(".vote [name=csrfmiddlewaretoken]").evaluate("token => { token.value = 'x' }")
    page.get_by_role("button", name="Hit 1 answers the query").click()

    expect(page.get_by_role("alert")).to_contain_text("Your vote was not kept")
    assert not Feedback.objects.in_workspace(workspace).exists()


def test_filters_that_cannot_be_counted_are_said_and_the_former_go(unwatched_page, tagged_entries):
    page = unwatched_page
    page.goto("/w/handbook/search?q=entry")
    page.route("**/search/filters?**", lambda route: route.fulfill(status=500, body="no"))
    page.get_by_role("searchbox").fill("entry of")

    expect(page.get_by_role("alert")).to_contain_text("filters could not be counted")
    expect(page.locator(".facet")).to_have_count(0)


def test_error_of_the_query_is_shown_at_the_box_until_it_is_corrected(unwatched_page, guide):
    page = unwatched_page
    box = page.get_by_role("searchbox")
    page.goto("/w/handbook/search")
    box.fill("'\"'")
    expect(box).to_have_attribute("aria-invalid", "true")
    expect(box).to_have_accessible_description(re.compile("is not FTS5 syntax"))
    box.fill("restart")

    expect(page.get_by_role("article").first).to_be_visible()
    expect(box).not_to_have_attribute("aria-invalid", "true")


def test_counts_of_the_query_before_come_too_late(open_page, member, tagged_entries):
    page, held = open_page(member), []
    page.goto("/w/handbook/search")
    page.route("**/search/filters?**", lambda route: held.append(route))
    with page.expect_request("**/search/filters?**"):
        page.get_by_role("searchbox").fill("entry")
    with page.expect_event("requestfailed"):
        page.get_by_role("searchbox").fill("")

    expect(page).to_have_url(re.compile("/search$"))
    expect(page.locator("#filters")).to_be_hidden()
    assert len(held) == 1


def test_the_focus_stays_on_its_hit_when_others_come(open_page, member, tagged_entries):
    page, held = open_page(member), []
    page.goto("/w/handbook/search?q=entry&mode=lexical")
    page.route(re.compile(r"/search\?q=entry(\+|%20)of"), lambda route: held.append(route))
    with page.expect_request(re.compile(r"/search\?q=entry(\+|%20)of")):
        page.get_by_role("searchbox").fill("entry of")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(hit_links(page).nth(1)).to_be_focused()
    held[0].continue_()

    expect(page).to_have_url(re.compile(r"q=entry\+of"))
    expect(hit_links(page).nth(1)).to_be_focused()


def test_more_hits_of_what_was_typed_repeat_none(open_page, member, list_of_entries):
    page = open_page(member)
    page.goto("/w/handbook/search?mode=lexical")
    page.get_by_role("searchbox").press_sequentially("entry")
    page.get_by_role("link", name="More hits").press("Enter")

    expect(hit_links(page)).to_have_count(20)
    expect(hit_links(page).nth(10)).to_be_focused()
    citations = page.locator("[data-copy]").evaluate_all("all => all.map(each => each.dataset.copy)")
    assert len(set(citations)) == 20


def test_logged_out_person_is_sent_to_log_in(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/search")
    page.context.clear_cookies()
    page.get_by_role("searchbox").press_sequentially("restart")

    expect(page).to_have_url(re.compile("/login.*next=.*search.*q%3Dr"))


def test_a_request_that_was_cancelled_is_no_error(open_page, member, guide):
    page, held = open_page(member), []
    page.goto("/w/handbook/search")
    page.route(re.compile(r"/search\?q=res($|&)"), lambda route: held.append(route))
    with page.expect_event("requestfailed"):
        with page.expect_request(re.compile(r"q=res($|&)")):
            page.get_by_role("searchbox").press_sequentially("res")
        page.get_by_role("searchbox").press_sequentially("tart")

    expect(page.get_by_role("article").first).to_contain_text("Deploy guide")
    assert len(held) == 1
