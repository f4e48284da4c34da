"""A workspace that people create, fill and join by its pages alone."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.walks.editor_tasks import expect_searchable
from tests.acceptance.walks.visitor import PASSWORD, Visitor, open_visitor
from tests.support.paths import FILES
from tests.support.stack import Stack

SLUG = "harbour-office"
_FIRST_FILES = ("markdown/moorings.md", "code/ledger.py", "pdf/printed.pdf", "transcript/harbour.srt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """All visitors, logged in where they have an account."""

    by_name: Mapping[str, Visitor]


@pytest.fixture(scope="module")
def team(stack: Stack, source_root: Path, browser: Browser) -> Iterator[Team]:
    """Let the operator create a workspace and reach a first hit; the others join by their invitations."""
    with ExitStack() as visits:

        def visitor(name: str) -> Visitor:
            folder = source_root / name
            folder.mkdir(mode=0o755)
            return visits.enter_context(open_visitor(browser, stack.url, SLUG, folder))

        names = ("owner", "admin", "editor", "viewer", "clerk", "stranger", "nobody")
        people = {name: visitor(name) for name in names}
        for name in ("owner", "stranger"):
            result = stack.run("createsuperuser", "--noinput", "--email", people[name].email)
            assert result.returncode == 0, result.stderr
            people[name].log_in()
        _reach_first_hit(people["owner"])
        for name, role in {
            "admin": "admin",
            "editor": "editor",
            "viewer": "viewer",
            "clerk": "viewer",
        }.items():
            _join(people["owner"], people[name], role)
        yield Team(by_name=people)


def _reach_first_hit(owner: Visitor) -> None:
    """Create a workspace and follow its pages until a search has a hit."""
    page = owner.page
    page.get_by_text("New workspace").click()
    page.get_by_label("Name", exact=True).fill("Harbour office")
    page.get_by_label("URL name").fill(SLUG)
    owner.submit("Create")
    expect(page.get_by_text("Nothing to search yet")).to_be_visible()
    owner.follow("Upload files")
    page.locator("#file").set_input_files([FILES / name for name in _FIRST_FILES])
    expect_searchable(page, len(_FIRST_FILES))
    page.locator("[data-searchable] a").first.click()
    page.locator("[data-search-box]").press_sequentially("chafed rope")
    expect(page.locator("[data-result]").first).to_contain_text("Moorings and berths")


def _join(owner: Visitor, newcomer: Visitor, role: str) -> None:
    """Invite a person, who opens the link, chooses a password and logs in."""
    owner.open("people")
    owner.page.locator("summary", has_text="Invite").click()
    owner.page.get_by_label("Email").fill(newcomer.email)
    owner.page.get_by_label("Role", exact=True).select_option(role)
    owner.submit("Send the invitation")
    newcomer.page.goto(owner.page.get_by_label("Link", exact=True).input_value())
    newcomer.page.get_by_label("Your name").fill(newcomer.name.title())
    for label in ("Choose a password", "Repeat the password"):
        newcomer.page.get_by_label(label).fill(PASSWORD)
    newcomer.submit("Join")
    expect(newcomer.page.locator("#q")).to_be_visible()
