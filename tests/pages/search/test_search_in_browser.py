"""Search in a real browser: as you type, by keyboard, and copied links."""

import re

import pytest
from playwright.sync_api import expect

from search.models import Feedback
from tests.pages.search.shelf import index, shelve
from tests.support.browser import needs_browser, session_cookie

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
    return page.locator("[data-result] h2 a")


def test_hits_come_as_one_types_and_the_address_is_replaced(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/search")
    steps = page.evaluate("history.length")
    page.locator("[data-search-box]").press_sequentially("restart workers")

    expect(page.get_by_role("article").first).to_contain_text("Deploy guide")
    expect(page).to_have_url(re.compile(r"\?q=restart\+workers&"))
    expect(page).to_have_title(re.compile("^restart workers"))
    expect(page.locator("[data-search-box]")).to_be_focused()
    expect(page.locator("#count")).to_have_text(re.compile(r"^\d+ documents?$"))
    assert page.evaluate("history.length") == steps
    page.reload()
    expect(page.get_by_role("article").first).to_contain_text("Deploy guide")


def test_only_the_last_of_quick_keystrokes_is_sent(open_page, member, guide):
    page, asked = open_page(member), []
    page.goto("/w/handbook/search")
    page.on("request", lambda request: "/search?q=" in request.url and asked.append(request.url))
    page.locator("[data-search-box]").press_sequentially("restart", delay=5)

    expect(page).to_have_url(re.compile("q=restart&"))
    assert len(asked) < len("restart")
    assert re.search("q=restart(&|$)", asked[-1])


def test_emptied_search_box_removes_the_hits(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/search?q=restart")
    page.locator("[data-search-box]").fill("")

    expect(page.get_by_role("article")).to_have_count(0)
    expect(page).to_have_url(re.compile("/search$"))


def test_arrows_move_through_the_hits_enter_opens_escape_goes_back(open_page, member, list_of_entries):
    page = open_page(member)
    page.goto("/w/handbook/search?q=entry&mode=lexical")
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    expect(hit_links(page).nth(0)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("[data-search-box]")).to_be_focused()
    for _ in range(20):
        page.keyboard.press("ArrowDown")
    expect(hit_links(page).nth(9)).to_be_focused()
    expect(hit_links(page).nth(9)).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("[data-search-box]")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile("/documents/"))


def test_filters_are_counted_after_the_hits_and_shown_beside_them(open_page, member, tagged_entries):
    page = open_page(member, viewport={"width": 1440, "height": 900})
    page.goto("/w/handbook/search")
    page.locator("[data-search-box]").press_sequentially("entry")
    page.get_by_role("link", name=re.compile("^old 1")).click()

    expect(page.get_by_role("article")).to_have_count(1)
    page.locator("[data-search-box]").fill("entry of")
    expect(page).to_have_url(re.compile("q=entry\\+of&.*tags_any=old"))
    page.get_by_role("link", name="Remove Tag: old").click()
    expect(page.get_by_role("article").filter(has_text="new.md")).to_have_count(1)


def test_on_a_phone_filters_open_when_asked(open_page, member, tagged_entries):
    page = open_page(member, viewport={"width": 390, "height": 800})
    page.goto("/w/handbook/search?q=entry")
    value = page.get_by_role("link", name=re.compile("^old 1"))
    expect(value).to_be_hidden()
    page.get_by_text("Filter results").click()
    expect(value).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_more_hits_are_appended_and_the_keyboard_goes_on_with_them(open_page, member, list_of_entries):
    page = open_page(member)
    page.goto("/w/handbook/search?q=entry&mode=lexical")
    page.get_by_role("link", name="More results").press("Enter")
    expect(hit_links(page)).to_have_count(20)
    expect(hit_links(page).nth(10)).to_be_focused()
    page.get_by_role("link", name="More results").press("Enter")
    expect(hit_links(page)).to_have_count(30)

    expect(page.get_by_text("No more results")).to_be_visible()
    ids = page.locator("[data-result] h2").evaluate_all("all => all.map(each => each.id)")
    assert len(set(ids)) == 30


def test_vote_is_stored_without_reloading_the_page(open_page, member, workspace, guide):
    page = open_page(member)
    page.goto("/w/handbook/search?q=restart&mode=lexical")
    page.get_by_role("article").hover()
    page.get_by_role("button", name="Helpful", exact=True).click()

    expect(page.get_by_role("button", name="Helpful", exact=True, pressed=True)).to_be_focused()
    expect(page.locator("#count")).to_have_text("Thanks for your feedback")
    assert Feedback.objects.in_workspace(workspace).get().is_relevant


def test_more_hits_and_votes_need_no_javascript(open_page, member, workspace, list_of_entries):
    page = open_page(member, java_script_enabled=False)
    page.goto("/w/handbook/search?q=entry&mode=lexical")
    page.get_by_role("link", name="More results").click()
    expect(page.locator("#result-20")).to_be_visible()
    page.locator("#vote-11-no").click()

    expect(page.get_by_text("Thanks for your feedback")).to_be_visible()
    expect(page.locator("#result-11")).to_be_in_viewport()
    assert not Feedback.objects.in_workspace(workspace).get().is_relevant


def test_copying_a_result_link_shows_a_confirmation(open_page, member, guide):
    page = open_page(member, permissions=["clipboard-read", "clipboard-write"])
    page.goto("/w/handbook/search?q=restart")
    address = hit_links(page).first.evaluate("link => link.href")
    page.get_by_role("article").first.hover()
    page.get_by_role("button", name="Copy link").first.click()

    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == address
    assert address.endswith("#L3")


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


def test_failed_search_shows_an_error_and_keeps_the_former_hits(unwatched_page, guide):
    page = unwatched_page
    page.goto("/w/handbook/search?q=restart&mode=lexical")
    for status in (None, 404, 429, 500):
        page.route("**/search?**", answer_with(status))
        page.locator("[data-search-box]").fill(f"workers {status}")

        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.get_by_role("article")).to_have_count(1)
        page.unroute("**/search?**")
        page.locator("[data-search-box]").fill("roll back")
        expect(page.locator("#undone")).to_be_hidden()


def test_refused_vote_shows_an_error(unwatched_page, workspace, guide):
    page = unwatched_page
    page.goto("/w/handbook/search?q=restart&mode=lexical")
    page.locator("#vote [name=csrfmiddlewaretoken]").evaluate("token => { token.value = 'x' }")
    page.get_by_role("article").hover()
    page.get_by_role("button", name="Helpful", exact=True).click()

    expect(page.get_by_role("alert")).to_contain_text("Your feedback wasn’t saved")
    assert not Feedback.objects.in_workspace(workspace).exists()


def test_failed_filter_counts_show_an_error_and_remove_the_former(unwatched_page, tagged_entries):
    page = unwatched_page
    page.goto("/w/handbook/search?q=entry")
    page.route("**/search/filters?**", lambda route: route.fulfill(status=500, body="no"))
    page.locator("[data-search-box]").fill("entry of")

    expect(page.get_by_role("alert")).to_contain_text("filters couldn’t be counted")
    expect(page.locator(".facet")).to_have_count(0)


def test_error_of_the_query_is_shown_at_the_box_until_it_is_corrected(unwatched_page, guide):
    page = unwatched_page
    box = page.locator("[data-search-box]")
    page.goto("/w/handbook/search")
    box.fill("'\"'")
    expect(box).to_have_attribute("aria-invalid", "true")
    expect(box).to_have_accessible_description(re.compile("without a closing one"))
    box.fill("restart")

    expect(page.get_by_role("article").first).to_be_visible()
    expect(box).not_to_have_attribute("aria-invalid", "true")


def test_filter_counts_of_an_earlier_query_are_discarded(open_page, member, tagged_entries):
    page, held = open_page(member), []
    page.goto("/w/handbook/search")
    page.route("**/search/filters?**", lambda route: held.append(route))
    with page.expect_request("**/search/filters?**"):
        page.locator("[data-search-box]").fill("entry")
    with page.expect_event("requestfailed"):
        page.locator("[data-search-box]").fill("")

    expect(page).to_have_url(re.compile("/search$"))
    expect(page.locator("#filters")).to_be_hidden()
    assert len(held) == 1


def test_the_focus_stays_on_its_hit_when_others_come(open_page, member, tagged_entries):
    page, held = open_page(member), []
    page.goto("/w/handbook/search?q=entry&mode=lexical")
    page.route(re.compile(r"/search\?q=entry(\+|%20)of"), lambda route: held.append(route))
    with page.expect_request(re.compile(r"/search\?q=entry(\+|%20)of")):
        page.locator("[data-search-box]").fill("entry of")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(hit_links(page).nth(1)).to_be_focused()
    held[0].continue_()

    expect(page).to_have_url(re.compile(r"q=entry\+of"))
    expect(hit_links(page).nth(1)).to_be_focused()


def test_more_hits_of_what_was_typed_repeat_none(open_page, member, list_of_entries):
    page = open_page(member)
    page.goto("/w/handbook/search?mode=lexical")
    page.locator("[data-search-box]").press_sequentially("entry")
    page.get_by_role("link", name="More results").press("Enter")

    expect(hit_links(page)).to_have_count(20)
    expect(hit_links(page).nth(10)).to_be_focused()
    citations = hit_links(page).evaluate_all("all => all.map(each => each.href)")
    assert len(set(citations)) == 20


def test_logged_out_person_is_sent_to_log_in(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/search")
    page.context.clear_cookies()
    page.locator("[data-search-box]").press_sequentially("restart")

    expect(page).to_have_url(re.compile("/login.*next=.*search.*q%3Dr"))


def test_cancelled_request_is_not_logged_as_an_error(open_page, member, guide):
    page, held = open_page(member), []
    page.goto("/w/handbook/search")
    page.route(re.compile(r"/search\?q=res($|&)"), lambda route: held.append(route))
    with page.expect_event("requestfailed"):
        with page.expect_request(re.compile(r"q=res($|&)")):
            page.locator("[data-search-box]").press_sequentially("res")
        page.locator("[data-search-box]").press_sequentially("tart")

    expect(page.get_by_role("article").first).to_contain_text("Deploy guide")
    assert len(held) == 1


def test_arrows_lead_through_a_result_that_is_one_stop_of_the_tab_key(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/search?q=restart&mode=lexical")
    hit_links(page).first.focus()
    for _ in range(4):  # the first one shows the preview
        page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="Copy link")).to_be_focused()
    page.keyboard.press("Tab")

    assert not page.evaluate("document.activeElement.closest('[data-result]')")


def test_box_of_any_page_suggests_titles_and_the_palette_leads_to_pages(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/bookmarks")
    page.get_by_role("combobox", name="Search Team handbook").press_sequentially("depl")
    expect(page.get_by_role("option", name="Deploy guide")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/documents/{guide.doc_id.hex}"))

    page.get_by_role("combobox", name="Search Team handbook").press("Control+k")
    page.get_by_role("combobox", name="Go to").press_sequentially("bookm")
    page.get_by_role("option", name="Bookmarks").click()
    expect(page).to_have_url(re.compile("/bookmarks$"))


def test_recent_searches_are_offered_in_the_empty_box_until_one_logs_out(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/bookmarks")
    box = page.get_by_role("combobox", name="Search Team handbook")
    box.fill("restart workers")
    box.press("Enter")
    expect(page).to_have_url(re.compile("q=restart"))
    page.goto("/w/handbook/bookmarks")
    box.focus()
    expect(page.get_by_role("option", name="restart workers")).to_be_visible()

    page.keyboard.press("Escape")
    page.get_by_label("Account of").click()
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(re.compile("/login"))
    assert page.evaluate("localStorage.length") == 0


def test_theme_is_changed_at_once_and_kept(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/search")
    page.get_by_label("Account of").click()
    with page.expect_response("**/profile/theme"):
        page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 19, 18)"
    page.reload()

    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_preview_shows_the_cited_place_and_follows_the_arrows(open_page, member, list_of_entries):
    page = open_page(member)
    page.goto("/w/handbook/search?q=entry&mode=lexical")
    preview = page.get_by_role("complementary", name="Preview")
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    for key in ("Space", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    expect(hit_links(page).nth(1)).to_be_focused()
    expect(preview.get_by_role("heading")).to_have_text(hit_links(page).nth(1).inner_text())
    expect(preview.locator(".here mark")).to_have_text("entry")
    page.keyboard.press("Escape")
    expect(preview).to_be_hidden()
    expect(hit_links(page).nth(1)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(preview).to_be_visible()
    assert "/search?" in page.url


def test_five_results_stand_above_the_bar_of_a_phone(open_page, member, list_of_entries):
    page = open_page(member, viewport={"width": 390, "height": 844})
    page.goto("/w/handbook/search?q=entry&mode=lexical")
    bar = page.locator(".sidebar").bounding_box()
    fifth = page.locator("[data-result]").nth(4).bounding_box()
    assert fifth["y"] + fifth["height"] <= bar["y"]
    assert page.locator(".bar").bounding_box()["height"] <= 56

    page.get_by_title("Actions").first.click()
    page.locator("[data-result]").first.get_by_title("Bookmark").click()
    expect(page.locator("[data-result]").first.get_by_title("Bookmark")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.locator(".sidebar summary").click()
    expect(page.get_by_role("link", name="All workspaces")).to_be_in_viewport()


def test_box_is_in_the_middle_until_something_is_typed(open_page, member, guide):
    page = open_page(member, viewport={"width": 1440, "height": 900})
    page.goto("/w/handbook/search")
    box = page.locator("[data-search-box]")
    middle = box.bounding_box()
    assert abs(middle["x"] + middle["width"] / 2 - (1440 + 224) / 2) < 20
    box.press_sequentially("restart")
    expect(page.get_by_role("article").first).to_be_visible()
    assert box.bounding_box()["y"] < 56 < middle["y"]
    expect(box).to_be_focused()
