"""Sample documents for the MCP tests: a handbook, a Python package and two libraries."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import connection
from django.utils import timezone

from kebab.identity.models import ApiToken, Workspace
from kebab.identity.tokens import mint_token
from kebab.tenancy.current_workspace import acting_everywhere
from search.libraries.source_stats import refresh_source_stats
from search.models import Chunk, Document, Source
from tests.integration.search.context.workspace_files import json_package, put_file

HANDBOOK = "handbook"
CODE = "stdlib"
RULES = ["Use functions.", "Never mutate state."]
_SUBJECTS = ("harbour", "lantern", "orchard", "glacier", "compass", "anchor", "beacon", "tiller")
INSTALL = """# Install

Run the installer, then restart the workers.

## Linux

Use the package manager: `apt install kebab`.
The lantern stays lit.
"""

Made = TypeVar("Made")
PAGE = "<html><body><h1>Moorings</h1>\n<p>Boats lie at their <b>moorings</b>.</p>\n</body></html>\n"


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """The workspace, and tokens with each scope."""

    workspace: Workspace
    #: With all scopes.
    secret: str

    def token(self, *scopes: str) -> tuple[ApiToken, str]:
        """Return a new committed token and its secret."""
        return commit(lambda: mint_token(self.workspace, scopes=scopes))

    def document(self, path: str) -> Document:
        """Return a document by its path."""
        return Document.objects.in_workspace(self.workspace).get(path=path)

    def chunks(self, path: str) -> list[Chunk]:
        """Return a document's chunks in order."""
        chunks = Chunk.objects.in_workspace(self.workspace).filter(document=self.document(path))
        return list(chunks.order_by("ordinal"))


def commit(act: Callable[[], Made]) -> Made:
    """Call `act` outside of the test's transaction."""

    def act_and_close() -> Made:
        try:
            with acting_everywhere():
                return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(act_and_close).result()


def fill(workspace: Any) -> None:
    """Write the documents."""
    put_file(workspace, "guides/install.md", INSTALL, source=HANDBOOK, trust_level="primary")
    for subject in _SUBJECTS:
        put_file(workspace, f"log/{subject}.md", log_of(subject), source=HANDBOOK)
    for path, text in json_package().items():
        put_file(workspace, path, text, source=CODE)
    put_file(workspace, "page.html", PAGE, source=HANDBOOK)
    put_file(workspace, "hooks.md", "# Hooks\n\nHow to use hooks with state.\n", source="react")
    put_file(workspace, "C# 50% why?.md", "# Generics\n\nType parameters.\n", source=HANDBOOK)
    put_file(workspace, "hooks.md", "# Hooks\n\nHooks of the old days.\n", source="react", version="v17")
    react = Source.objects.in_workspace(workspace).filter(key="react")
    react.update(title="React", library_id="/facebook/react", rules=RULES)
    for source in Source.objects.in_workspace(workspace):
        refresh_source_stats(workspace.pk, source.pk, state="indexed", last_indexed_at=timezone.now())
    react.update(total_snippets=1247, trust_score=9.2)


def log_of(subject: str) -> str:
    """Return a document of some 8,000 tokens: a hundred sections about the tides."""
    sections = (
        f"## Day {day}\n\nOn day {day} the {subject} was seen at the tides, {day * 7} paces from the pier. "
        f"Nobody moved the {subject}; the tides took {day} planks and left a rope of {day * 3} feet.\n"
        for day in range(1, 101)
    )
    return f"# The {subject}\n\n" + "\n".join(sections)
