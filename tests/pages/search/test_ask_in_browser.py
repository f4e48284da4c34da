"""The ask page in a real browser: keyboard, cited passage, phone, without JavaScript."""

import re

import pytest
from playwright.sync_api import expect

from search.models import KeptAnswer
from tests.integration.search.answers.factories import make_answer
from tests.support.browser import needs_browser

pytestmark = needs_browser
QUESTION = "How do I restart the workers?"


@pytest.fixture
def answer(guide, member):
    """Return an answer of the member's that cites the guide's first line."""
    quote = "Push the image, then restart the workers one by one."
    return make_answer(guide, creator=f"user:{member.pk}", question=QUESTION, quote=quote)


def test_a_question_is_asked_and_answered_without_javascript(open_page, member, guide):
    page = open_page(member, java_script_enabled=False)
    page.goto("/w/handbook/ask")
    page.get_by_label("Your question").fill(QUESTION)
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("article", name=QUESTION)).to_contain_text("restart the workers one by one")

    page.get_by_role("link", name="Source 1").click()
    expect(page).to_have_url(re.compile(r"#cited-[0-9a-f-]+-1$"))
    page.get_by_role("link", name="Show passage 1").click()
    expect(page.locator(".here")).to_contain_text("restart the workers one by one")
    page.get_by_role("link", name="Open document").click()
    expect(page.locator(".cited").first).to_be_in_viewport()


def test_a_marker_opens_the_passage_beside_the_answer_by_keyboard(open_page, member, answer):
    page = open_page(member, viewport={"width": 1440, "height": 900})
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(f"/w/handbook/answers/{answer.pk}")
    marker = page.get_by_role("link", name="Source 1")
    marker.focus()
    page.keyboard.press("Enter")
    opened = page.locator(".beside .opened")

    expect(opened.get_by_role("heading")).to_be_focused()
    expect(opened).to_contain_text("restart the workers one by one")
    assert opened.bounding_box()["x"] > marker.bounding_box()["x"]
    expect(marker).to_have_attribute("aria-current", "true")
    page.keyboard.press("Escape")
    expect(opened).to_have_count(0)
    expect(marker).to_be_focused()
    assert not [url for url in requested if "/citations/" in url]  # it was open already


def test_the_passage_comes_below_the_answer_on_a_phone(open_page, member, answer):
    page = open_page(member, viewport={"width": 390, "height": 844})
    page.goto(f"/w/handbook/answers/{answer.pk}")
    page.get_by_role("link", name="Source 1").click()
    opened = page.locator(".beside .opened")

    expect(opened.get_by_role("heading")).to_be_in_viewport()
    opened.get_by_role("button", name="Close").click()
    expect(page.get_by_role("link", name="Source 1")).to_be_focused()


def test_a_passage_that_comes_after_closing_stays_closed(open_page, member, answer):
    answer.text = "It is so [#1]. It is so again [#2]."
    answer.citations.append({**answer.citations[0], "n": 2})
    answer.hits.append({**answer.hits[0], "rank": 2, "n": 2})
    answer.save()
    page = open_page(member)
    held = []
    page.route("**/citations/2", lambda route: held.append(route))
    page.goto(f"/w/handbook/answers/{answer.pk}")
    with page.expect_request("**/citations/2"):
        page.get_by_role("link", name="Source 2").click()
    page.locator(".beside").get_by_role("button", name="Close").click()
    with page.expect_response("**/citations/2"):
        held[0].continue_()

    page.wait_for_function("!document.querySelector('.htmx-request')")
    expect(page.locator(".beside .opened")).to_have_count(0)
    page.unroute("**/citations/2")
    page.get_by_role("link", name="Source 2").click()
    expect(page.locator(".beside .opened")).to_have_attribute("data-n", "2")
    expect(page.locator(".beside .opened").get_by_role("heading")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Source 2")).to_be_focused()


def test_ask_pages_fit_the_screen(open_page, member, guide):
    long = "w" * 300
    row = make_answer(
        guide,
        creator=f"user:{member.pk}",
        question=f"Is {long}?",
        text=f"{long} [#1]",
        quote=long,
        heading=long,
    )
    page = open_page(member)
    for address in ("ask", f"answers/{row.pk}", f"answers/{row.pk}/citations/1"):
        page.goto(f"/w/handbook/{address}")
        for width in (320, 390, 1024, 1440):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
                address,
                width,
            )


def test_shift_and_enter_begin_a_line(open_page, member, guide):
    page = open_page(member)
    page.goto("/w/handbook/ask")
    box = page.get_by_label("Your question")
    expect(box).to_be_focused()
    box.press_sequentially("How?")
    page.keyboard.press("Shift+Enter")
    box.press_sequentially("Why?")

    expect(box).to_have_value("How?\nWhy?")
    assert not KeptAnswer.objects.exists()
