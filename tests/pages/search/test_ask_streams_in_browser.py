"""Streamed answers in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from kebab.identity.models import Group, Membership
from search.models import KeptAnswer, Source
from tests.api.mcp.web_server import running_web_server
from tests.integration.search.answers.fixtures import use  # noqa: F401  a fixture
from tests.integration.search.answers.stub import drips, in_turn, says
from tests.support.browser import listen, needs_browser, session_cookie
from tests.support.corpus import restrict
from tests.support.stack import eventually

pytestmark = [*needs_browser, pytest.mark.django_db(transaction=True)]
QUESTION = "How do I restart the workers?"


@pytest.fixture
def open_ask(browser, guide, member):
    """Open a member's ask page on a server that streams; messages on its console fail the test."""
    complaints, contexts = [], []
    with running_web_server() as url:

        def open_(**options):
            context = browser.new_context(base_url=url, **options)
            contexts.append(context)
            context.add_cookies([session_cookie(member, url)])
            page = context.new_page()
            page.set_default_timeout(15_000)
            listen(page, url, complaints)
            page.goto("/w/handbook/ask")
            return page

        open_.complaints = complaints
        yield open_
        for context in contexts:
            context.close()
    assert complaints == []


def ask(page, question=QUESTION):
    page.locator("#question").fill(question)
    page.keyboard.press("Enter")


def pausing_answer(*pieces):
    """Return a behaviour that sends these pieces, then waits until the test releases it."""

    def behave(exchange):
        exchange.begin_stream()
        for piece in pieces:
            exchange.send_piece(piece)
        exchange.server.released.wait()
        exchange.send_piece("", "stop")
        exchange.send_event("[DONE]")

    return behave


def test_hits_come_first_then_the_text_then_the_answer_as_every_page_shows_it(open_ask, use):  # noqa: F811
    stub = use(pausing_answer("Restart them ", "one by one [#1]."))
    page = open_ask()
    ask(page)
    live = page.locator(".turn.live")

    expect(live).to_contain_text("Deploy guide")
    expect(live.locator("[aria-live=polite]")).to_have_attribute("aria-busy", "true")
    expect(live.locator("[aria-live=polite]")).to_have_text("Restart them one by one [1].")
    stub.released.set()
    turn = page.get_by_role("article", name=QUESTION)
    expect(turn.get_by_text("Answer with sources")).to_be_visible()
    expect(page.locator(".turn.live")).to_have_count(0)
    expect(page.locator("[role=status][data-announced]")).to_contain_text("Answer with sources")
    row = KeptAnswer.objects.get()
    expect(page).to_have_url(re.compile(f"/w/handbook/answers/{row.pk}$"))
    turn.get_by_role("link", name="Source 1").click()
    expect(turn.locator(".here")).to_contain_text("restart the workers one by one")


def test_the_next_question_goes_on_with_the_conversation(open_ask):
    page = open_ask()
    ask(page)
    expect(page.get_by_role("article", name=QUESTION)).to_contain_text("Quoted from your documents")
    expect(page.get_by_label("Follow-up question")).to_have_value("")
    ask(page, "And how do I roll back?")
    expect(page.get_by_role("article", name="And how do I roll back?")).to_be_visible()

    assert page.get_by_role("article").count() == 2
    assert len({row.conversation_id for row in KeptAnswer.objects.all()}) == 1


def test_stop_button_ends_the_model_and_keeps_the_partial_answer(open_ask, use):  # noqa: F811
    stub = use(drips)
    page = open_ask()
    ask(page)
    expect(page.locator(".turn.live")).to_contain_text("Enough")
    page.get_by_role("button", name="Stop").click()

    expect(page.locator(".turn.live")).to_contain_text("Stopped.")
    assert stub.was_left.wait(15)
    eventually(KeptAnswer.objects.exists, "the answer is kept")
    assert KeptAnswer.objects.get().reason == "stopped"
    assert page.locator("[name=conversation_id]").input_value() == str(
        KeptAnswer.objects.get().conversation_id
    )


def test_leaving_the_page_ends_the_model(open_ask, use):  # noqa: F811
    stub = use(drips)
    page = open_ask()
    ask(page)
    expect(page.locator(".turn.live")).to_contain_text("Enough")
    page.goto("/w/handbook/search")

    assert stub.was_left.wait(15)


def test_right_that_ends_during_an_answer_is_reported(open_ask, use):  # noqa: F811
    use(drips)
    page = open_ask()
    ask(page)
    expect(page.locator(".turn.live")).to_contain_text("Enough")
    workspace = Source.objects.get().workspace
    restrict(Source.objects.get(), Group.objects.create(workspace=workspace, name="crew"))

    expect(page.locator(".turn.live")).to_contain_text("The answer stopped")


def test_refused_question_is_reported_keeping_input(open_ask):
    page = open_ask()
    page.locator("[name=conversation_id]").evaluate("field => field.value = crypto.randomUUID()")
    ask(page)
    expect(page.locator(".turn.live")).to_contain_text("This conversation was deleted.")
    expect(page.locator("#question")).to_have_value(QUESTION)
    Membership.objects.all().delete()
    ask(page)
    expect(page.locator(".turn.live").last).to_contain_text("was deleted")

    assert [text for text in open_ask.complaints if "404" not in text] == []
    open_ask.complaints.clear()


def test_streamed_text_of_a_model_is_escaped(open_ask, use):  # noqa: F811
    stub = use(pausing_answer("<i id=pwned>restart</i> [#1]"))
    page = open_ask()
    ask(page)
    expect(page.locator(".turn.live")).to_contain_text("<i id=pwned>restart</i>")
    stub.released.set()
    expect(page.get_by_role("article", name=QUESTION)).to_contain_text("<i id=pwned>restart</i>")

    expect(page.locator("#pwned")).to_have_count(0)


def test_a_failure_of_the_model_is_the_answers_state(open_ask, use):  # noqa: F811
    use(in_turn([says(""), says("Restart them [#1].")]))
    page = open_ask()
    ask(page)
    expect(page.get_by_role("article", name=QUESTION)).to_contain_text("The model returned no text.")
    ask(page, "How do I restart all of the workers?")
    expect(page.get_by_text("Answer with sources", exact=True)).to_be_visible()


def test_a_link_within_the_page_leaves_the_answer_alone(open_ask, use):  # noqa: F811
    stub = use(pausing_answer("Restart them [#1]."))
    page = open_ask()
    ask(page)
    expect(page.locator(".turn.live")).to_contain_text("Restart them")
    page.get_by_role("link", name="Skip").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#"))
    stub.released.set()

    expect(page.get_by_text("Answer with sources", exact=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Answer with sources", exact=True)).to_have_count(0)


def test_unicode_line_separators_do_not_break_streamed_events(open_ask, use):  # noqa: F811
    stub = use(pausing_answer("Restart\u2028them\u2029", "one by one [#1]."))
    page = open_ask()
    ask(page)
    expect(page.locator(".turn.live")).to_contain_text(re.compile("Restart.them.one by one", re.DOTALL))
    stub.released.set()

    expect(page.get_by_text("Answer with sources", exact=True)).to_be_visible()


@pytest.mark.parametrize("fails", [lambda route: route.abort(), lambda route: route.fulfill(status=503)])
def test_streamed_answer_that_cannot_be_reloaded_links_to_its_page(open_ask, fails):
    page = open_ask()
    page.route("**/answers/*", fails)
    ask(page)
    live = page.locator(".turn.live")
    expect(live).to_contain_text("The answer is saved, but couldn’t be loaded.")
    row = KeptAnswer.objects.get()
    expect(live.locator("[data-part=text]")).to_have_text(row.text.replace("#", ""))
    expect(page.get_by_label("Follow-up question")).to_have_value("")
    page.unroute("**/answers/*")
    live.get_by_role("link", name="View answer").click()

    expect(page).to_have_url(re.compile(f"/answers/{row.pk}$"))
    assert [
        text for text in open_ask.complaints if "Failed to load" not in text and str(row.pk) not in text
    ] == []
    open_ask.complaints.clear()


def test_closing_a_passage_leads_back_to_the_marker_that_opened_it(open_ask):
    page = open_ask()
    for question in (QUESTION, "And how do I roll back?"):
        ask(page, question)
        turn = page.get_by_role("article", name=question)
        turn.locator(".marker").first.click()
        expect(turn.locator(".opened h2")).to_be_focused()
    first = page.get_by_role("article", name=QUESTION)
    first.locator("[data-close]").click()

    expect(first.locator(".marker").first).to_be_focused()
