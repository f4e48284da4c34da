"""What people come to do: a task, who may do it, and what everybody else meets instead."""

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import expect

from kebab.people.models import Role
from tests.acceptance.walks.visitor import Visitor


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something that a member does on pages, by what they see there."""

    #: Does it, and expects what comes of it.
    do: Callable[[Visitor], None]
    #: The least role that may.
    need: Role
    #: The page on which it begins, below the workspace's address.
    begins_at: str
    #: A selector of what is there for those who may alone, where the page itself is everybody's.
    control: str = ""

    @property
    def name(self) -> str:
        """What a failure is called by."""
        return self.do.__name__

    def is_kept_from(self, visitor: Visitor) -> None:
        """Expect that a member of a lesser role is offered no way to do it."""
        if self.control:
            assert visitor.open(self.begins_at) == 200
            expect(visitor.page.locator(self.control)).to_have_count(0)
            return
        with visitor.refused(403):
            assert visitor.open(self.begins_at) == 403
        expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
        linked = visitor.page.locator(f'a[href="/w/{visitor.slug}/{self.begins_at}"]')
        expect(linked).to_have_count(0)

    def is_nowhere_for(self, stranger: Visitor) -> None:
        """Expect that who is no member can't tell the page from one that never was."""
        with stranger.refused(404):
            assert stranger.open(self.begins_at) == 404
            shown = stranger.page.locator("main").inner_text()
            stranger.page.goto(f"/w/no-such-place/{self.begins_at}")
        assert stranger.page.locator("main").inner_text() == shown
