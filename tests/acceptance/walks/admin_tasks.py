"""Tasks of admins: people, groups, tokens, settings, and search quality."""

import re

from playwright.sync_api import expect

from kebab.identity.models import Role
from tests.acceptance.walks.task import Task
from tests.acceptance.walks.visitor import Visitor


def invite_and_withdraw(visitor: Visitor) -> None:
    page, guest = visitor.page, f"guest-of-{visitor.name}@harbour.example"
    visitor.open("search")
    visitor.go_by_tab("People")
    page.locator("summary", has_text="Invite").click()
    page.get_by_label("Email").fill(guest)
    page.get_by_label("Role", exact=True).select_option("editor")
    visitor.submit("Send the invitation")
    visitor.expect_message(guest)
    visitor.submit(f"Withdraw the invitation of {guest}")

    expect(page.get_by_role("cell", name=guest)).to_have_count(0)


def change_a_members_role(visitor: Visitor) -> None:
    page = visitor.page
    visitor.open("people")
    clerk = visitor.row("clerk@harbour.example")
    clerk.get_by_role("combobox").select_option("editor")
    with page.expect_navigation():
        clerk.get_by_role("button").click()
    visitor.expect_message("clerk@harbour.example")
    with page.expect_navigation():
        clerk.get_by_role("link").click()
    visitor.follow("Check access")
    expect(page.locator("dl.facts-table")).to_contain_text("Editor")
    page.go_back()
    page.locator("#id_role").select_option("viewer")
    visitor.submit("Save the role")

    visitor.expect_message("clerk@harbour.example")


def create_fill_and_delete_a_group(visitor: Visitor) -> None:
    page, name = visitor.page, f"Crew of {visitor.name}"
    visitor.open("people")
    visitor.follow("Groups")
    page.get_by_text("New group").click()
    page.get_by_label("Name").fill(name)
    visitor.submit("Create")
    visitor.open("groups")
    visitor.follow(name)
    page.get_by_role("combobox", name="Member").fill("clerk@harbour.example")
    visitor.submit("Add member")
    with page.expect_navigation():
        visitor.row("clerk@harbour.example").get_by_role("button").click()
    page.get_by_text(f"Delete {name}").click()
    visitor.submit("Delete")
    visitor.open("groups")

    expect(page.get_by_role("link", name=name)).to_have_count(0)


def create_use_and_revoke_a_token(visitor: Visitor) -> None:
    page, name = visitor.page, f"Bot of {visitor.name}"
    visitor.open("tokens")
    page.get_by_text("New token").click()
    page.get_by_label("Name").fill(name)
    page.locator("input[value=search]").check()
    visitor.submit("Create")
    secret = page.get_by_label("Token", exact=True).input_value()
    visitor.press("Copy")
    expect(page.locator(".secret")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == secret
    assert _status(visitor, secret) == 200
    visitor.open("tokens")
    assert secret not in page.content()
    visitor.follow(name)
    page.locator("summary", has_text="Revoke").click()
    visitor.submit("Revoke this token")
    expect(page.locator(".state").first).to_have_text("Revoked")

    assert _status(visitor, secret) == 401


def _status(visitor: Visitor, secret: str) -> int:
    """Return the status of a search with the token alone."""
    found = visitor.page.evaluate(
        """([address, secret]) => {
          const headers = { Authorization: `Bearer ${secret}` };
          return fetch(address, { credentials: "omit", headers }).then((answer) => answer.status);
        }""",
        [f"/api/v1/workspaces/{visitor.slug}/search?q=rope", secret],
    )
    visitor.complaints[:] = [each for each in visitor.complaints if "status of 401" not in each]
    return int(found)


def change_search_settings(visitor: Visitor) -> None:
    page = visitor.page
    visitor.open("search")
    visitor.go_by_tab("Settings")
    visitor.follow("Retention")
    field = page.get_by_label("Keep searches (days)")
    field.fill("30")
    visitor.submit("Save")
    expect(field).to_have_value("30")
    field.fill("")
    visitor.submit("Save")
    expect(field).to_have_value("")
    visitor.follow("Audit log")

    expect(page.get_by_role("table")).to_contain_text(visitor.email)


def view_query_statistics(visitor: Visitor) -> None:
    page, query = visitor.page, f"barnacles {visitor.name}"
    visitor.open(f"search?q={query.replace(' ', '+')}&mode=lexical")
    visitor.go_by_tab("Insight")
    query_link = page.get_by_role("link", name=query)
    visitor.reload_until(lambda: query_link.count() > 0, "the query is written down")

    expect(page.get_by_role("group", name="Search index")).to_contain_text("up to date")


def judge_run_and_compare(visitor: Visitor) -> None:
    page, topics = visitor.page, f"set-{visitor.name}"
    visitor.open("evaluation")
    visitor.follow("Add a test query")
    page.get_by_label("Query").fill(f"chafed rope {visitor.name}")
    page.get_by_label("Right results").fill("moorings.md")
    page.get_by_label("Set").fill(topics)
    visitor.submit("Add the test query")
    visitor.expect_message("Test query added.")
    for mode in ("lexical", "hybrid"):
        visitor.open(f"evaluation/runs/new?set={topics}")
        page.get_by_label("Set").select_option(topics)
        page.get_by_label("Search by").select_option(mode)
        visitor.submit("Start the run")
        expect(page.get_by_text("Ranking quality (top 10)").first).to_be_visible(timeout=60_000)
    visitor.submit("Compare")

    expect(page.locator(".verdict")).to_contain_text("the same")


def turn_feedback_into_judgements(visitor: Visitor) -> None:
    page, query = visitor.page, f"chafed rope of {visitor.name}"
    visitor.open(f"search?q={query.replace(' ', '+')}")
    page.get_by_role("article").first.hover()
    page.locator("#vote-1-yes").click()
    expect(page.locator("#vote-1-yes[aria-pressed=true]")).to_be_visible()
    visitor.open("evaluation")
    visitor.follow("Feedback")
    with page.expect_navigation():
        visitor.row(query).get_by_role("button").click()
    visitor.open("evaluation?set=feedback")

    expect(page.get_by_role("rowheader", name=query)).to_be_visible()


def review_answers(visitor: Visitor) -> None:
    page, question = visitor.page, f"What do the moorings cost {visitor.name}?"
    visitor.open("ask")
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    answered = re.compile("Quoted from your documents|No answer")
    expect(page.get_by_role("article", name=question)).to_contain_text(answered)
    visitor.open("ask")
    visitor.follow("Review all answers")
    page.get_by_role("table").get_by_role("link", name=question).click()

    expect(page.get_by_text(answered).first).to_be_visible()


TASKS = (
    Task(do=invite_and_withdraw, need=Role.ADMIN, begins_at="people"),
    Task(do=change_a_members_role, need=Role.ADMIN, begins_at="people"),
    Task(do=create_fill_and_delete_a_group, need=Role.ADMIN, begins_at="groups"),
    Task(do=create_use_and_revoke_a_token, need=Role.ADMIN, begins_at="tokens"),
    Task(do=change_search_settings, need=Role.ADMIN, begins_at="settings"),
    Task(do=view_query_statistics, need=Role.ADMIN, begins_at="insight"),
    Task(do=judge_run_and_compare, need=Role.ADMIN, begins_at="evaluation"),
    Task(do=turn_feedback_into_judgements, need=Role.ADMIN, begins_at="evaluation/feedback"),
    Task(
        do=review_answers,
        need=Role.ADMIN,
        begins_at="answers",
        control=".asked-text + td + td + td",
    ),
)
