"""Tasks of members, the roles that they require, and their absence for others."""

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import expect

from kebab.identity.models import Role
from tests.acceptance.walks.visitor import Visitor


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something that a member does by the visible content of pages."""

    #: Performs the task, and expects its result.
    do: Callable[[Visitor], None]
    #: The minimum role.
    need: Role
    #: The first page of the task, below the workspace's address.
    begins_at: str
    #: A selector of controls for permitted roles only, where the page itself is visible to all.
    control: str = ""

    @property
    def name(self) -> str:
        """Return the task's name in messages."""
        return self.do.__name__

    def expect_unavailable_to(self, visitor: Visitor) -> None:
        """Expect that a member of a lesser role has no control for it."""
        if self.control:
            assert visitor.open(self.begins_at) == 200
            expect(visitor.page.locator(self.control)).to_have_count(0)
            return
        with visitor.expect_status(403):
            assert visitor.open(self.begins_at) == 403
        expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
        linked = visitor.page.locator(f'a[href="/w/{visitor.slug}/{self.begins_at}"]')
        expect(linked).to_have_count(0)

    def expect_missing_for(self, stranger: Visitor) -> None:
        """Expect that a stranger gets the same answer as for a missing page."""
        with stranger.expect_status(404):
            assert stranger.open(self.begins_at) == 404
            shown = stranger.page.locator("main").inner_text()
            stranger.page.goto(f"/w/no-such-place/{self.begins_at}")
        assert stranger.page.locator("main").inner_text() == shown
