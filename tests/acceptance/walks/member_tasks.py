"""Tasks of every member: search, read, ask, and view the sources of documents."""

import re

from playwright.sync_api import expect

from kebab.identity.models import Role
from tests.acceptance.walks.task import Task
from tests.acceptance.walks.visitor import Visitor


def find_a_passage_by_keyboard(visitor: Visitor) -> None:
    page = visitor.page
    visitor.open("search")
    page.keyboard.type("chafed rope")  # the search box has the focus
    expect(page.locator("[data-result]").first).to_contain_text("Moorings and berths")
    expect(page.locator("[data-result]").first.locator("mark").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    cited = page.locator(".cited").filter(has_text="A chafed rope is never doubled")
    expect(cited.first).to_be_in_viewport()


def filter_a_search_and_explain_it(visitor: Visitor) -> None:
    page = visitor.page
    visitor.open("search?q=harbour")
    page.get_by_text("Filter results").click()
    page.get_by_role("link", name=re.compile("^berths 1")).click()
    elsewhere = page.locator("[data-result]").filter(has_not_text="moorings.md")
    expect(elsewhere).to_have_count(0)
    expect(page.locator("[data-result]").first).to_be_visible()
    page.get_by_role("link", name="Remove Tag: berths").click()
    expect(elsewhere.first).to_be_visible()
    page.get_by_label("Search options").click()
    page.get_by_role("link", name="Exact words").click()
    expect(page).to_have_url(re.compile("mode=lexical"))
    page.get_by_role("article").first.hover()
    page.get_by_title("Why this result").first.click()

    expect(page.locator(".why").first).to_contain_text("place 1")
    expect(page.locator(".why meter").first).to_be_visible()


def follow_a_spelling_suggestion(visitor: Visitor) -> None:
    page = visitor.page
    visitor.open("search?q=pontooon&mode=lexical")
    expect(page.locator(".meant")).to_contain_text("Showing results for pontoon.")
    expect(page.locator("[data-result]").first).to_be_visible()
    page.get_by_role("link", name="Search for “pontooon” instead").click()

    expect(page.locator("[data-result]")).to_have_count(0)


def give_feedback_on_a_hit(visitor: Visitor) -> None:
    visitor.open("search?q=chafed+rope")
    visitor.page.get_by_role("article").first.hover()
    visitor.page.locator("#vote-1-yes").click()

    expect(visitor.page.locator("#vote-1-yes[aria-pressed=true]")).to_be_visible()


def copy_a_link(visitor: Visitor) -> None:
    visitor.open("search?q=chafed+rope")
    visitor.page.get_by_role("article").first.hover()
    visitor.page.get_by_role("button", name="Copy link").first.click()

    expect(visitor.page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    assert "#L" in visitor.page.evaluate("navigator.clipboard.readText()")


def read_documents_of_every_kind(visitor: Visitor) -> None:
    page = visitor.page
    for query, shows in {
        "chafed rope": ".rendered h2",
        "double-entry booking": ".lines",
        "winch was running": ".cues time",
        "marmalade siren": ".sheet",
    }.items():
        visitor.open(f"search?mode=lexical&q={query.replace(' ', '+')}")
        page.locator("[data-result] h2 a").first.click()
        expect(page.locator(shows).first).to_be_visible()


def ask_and_read_the_citations(visitor: Visitor) -> None:
    page = visitor.page
    question = f"When is a chafed rope replaced, {visitor.name}?"
    visitor.open("search")
    visitor.go_by_tab("Ask")
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    turn = page.get_by_role("article", name=question)
    expect(turn).to_contain_text("Quoted from your documents")
    turn.get_by_role("link", name=re.compile("Source 1")).first.click()
    expect(turn.locator(".opened")).to_contain_text("chafed rope")
    turn.get_by_role("link", name="Check sources again").click()
    expect(turn.locator(".check").first).to_be_visible()


def ask_an_unanswerable_question_and_delete_it(visitor: Visitor) -> None:
    page = visitor.page
    question = f"Which dentist treats zebras in Reykjavik, {visitor.name}?"
    visitor.open("ask")
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    turn = page.get_by_role("article", name=question)
    expect(turn).to_contain_text("Nothing in your documents answers this.")
    turn.get_by_text("Delete", exact=True).click()
    visitor.submit("Delete answer")
    visitor.open("ask")

    expect(page.get_by_text(question)).to_have_count(0)


def view_sources(visitor: Visitor) -> None:
    page = visitor.page
    visitor.open("search")
    visitor.go_by_tab("Sources")
    visitor.follow("uploads")
    page.get_by_label("Filter by name").fill("moor")
    visitor.submit("Apply")
    expect(page.get_by_role("link", name="Moorings and berths")).to_be_visible()
    visitor.go_by_tab("Activity")
    page.locator(".activity a").first.click()
    expect(page.locator(".facts-table")).to_contain_text("Requested")


TASKS = (
    Task(do=find_a_passage_by_keyboard, need=Role.VIEWER, begins_at="search"),
    Task(do=filter_a_search_and_explain_it, need=Role.VIEWER, begins_at="search?q=harbour"),
    Task(do=follow_a_spelling_suggestion, need=Role.VIEWER, begins_at="search?q=pontooon&mode=lexical"),
    Task(do=give_feedback_on_a_hit, need=Role.VIEWER, begins_at="search?q=chafed+rope"),
    Task(do=copy_a_link, need=Role.VIEWER, begins_at="search?q=chafed+rope&k=5"),
    Task(do=read_documents_of_every_kind, need=Role.VIEWER, begins_at="search?q=double-entry+booking"),
    Task(do=ask_and_read_the_citations, need=Role.VIEWER, begins_at="ask"),
    Task(do=ask_an_unanswerable_question_and_delete_it, need=Role.VIEWER, begins_at="ask"),
    Task(do=view_sources, need=Role.VIEWER, begins_at="sources"),
)
