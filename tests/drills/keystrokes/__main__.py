"""Measure the time from a key to painted hits in a browser (`python -m tests.drills.keystrokes`).

The stack of KEBAB_DATA_DIR must be running (`kebab up`). Queries are headings of the workspace, drawn with
the same fixed seed as in `make bench`, and typed key by key. A key's time ends when hits of a query that
includes it are painted, which may be those of the next key. The first paint is that of the page with hits in
a browser without any cached files.
"""

import argparse
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
django.setup()

# Imports need a configured Django.
from django.conf import settings  # noqa: E402
from playwright.sync_api import Page, expect  # noqa: E402

from kebab.cli.lookup import find_workspace  # noqa: E402
from kebab.identity.models import Membership, Role, User, Workspace  # noqa: E402
from kebab.stack.servers.borrowed_servers import borrow_stack  # noqa: E402
from kebab.stack.supervisor.state import running_state  # noqa: E402
from kebab.tenancy.current_workspace import acting_everywhere  # noqa: E402
from search.models import Chunk  # noqa: E402
from tests.drills.bench.budgets.search import heading_queries  # noqa: E402
from tests.pages.every_page.test_budgets import PAINTED  # noqa: E402
from tests.support.browser import running_browser, session_cookie  # noqa: E402

_LISTEN = (Path(__file__).parent / "typing.js").read_text()
_EMAIL = "typist@kebab.invalid"
_WARM_UP = 5
_LAST_HITS_MS = 1_000


def main(arguments: list[str]) -> None:
    """Type the queries, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.drills.keystrokes")
    parser.add_argument("workspace")
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--pace-ms", type=int, default=200, help="between two keys (default: 200)")
    options = parser.parse_args(arguments)
    if running_state(settings.KEBAB_DATA_DIR) is None:
        parser.error("No stack is running; start it with: kebab up")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # playwright runs an event loop in this thread
    with borrow_stack(), acting_everywhere():
        workspace = find_workspace(options.workspace)
        queries = heading_queries(workspace, options.queries + _WARM_UP)
        sys.stdout.write(f"{Chunk.objects.in_workspace(workspace).count():,} chunks\n")
        with _new_page(workspace) as new_page:
            sys.stdout.write(
                _summary("first paint", [_first_paint_ms(new_page(), query) for query in queries])
            )
            sys.stdout.write(_summary("key to painted hits", _type_all(new_page(), queries, options.pace_ms)))


@contextmanager
def _new_page(workspace: Workspace) -> Iterator[Callable[[], Page]]:
    """Yield a function that opens a page in a new browser context, signed in as a temporary member."""
    url = f"http://127.0.0.1:{settings.KEBAB_PORT}"
    person = User.objects.create_user(_EMAIL)
    try:
        Membership.objects.create(workspace=workspace, user=person, role=Role.VIEWER)
        cookie = session_cookie(person, url)
        with running_browser() as browser:

            def open_() -> Page:
                context = browser.new_context(base_url=f"{url}/w/{workspace.slug}/")
                context.add_cookies([cookie])
                return context.new_page()

            yield open_
    finally:
        person.delete()


def _first_paint_ms(page: Page, query: str) -> float:
    """Return the milliseconds from the request to the first paint."""
    page.goto(f"search?{urlencode({'q': query})}")
    first_paint_ms: float = page.evaluate(PAINTED)
    page.context.close()
    return first_paint_ms


def _type_all(page: Page, queries: Sequence[str], pace_ms: int) -> list[float]:
    """Return the milliseconds of each key after the first queries."""
    page.goto("search")
    page.evaluate(_LISTEN)
    times = [_type_query(page, query, pace_ms) for query in queries]
    return [each for query in times[_WARM_UP:] for each in query]


def _type_query(page: Page, query: str, pace_ms: int) -> list[float]:
    box = page.locator("[data-search-box]")
    box.fill("")
    expect(page.locator(".hit")).to_have_count(0)
    page.wait_for_timeout(pace_ms)
    page.evaluate("takeKeys()")
    box.press_sequentially(query, delay=pace_ms)
    page.wait_for_timeout(_LAST_HITS_MS)
    times: list[float | None] = page.evaluate("takeKeys()")
    assert None not in times, f"Keys of {query!r} brought no hits: {times}"
    return [each for each in times if each is not None]


def _summary(what: str, times: Sequence[float]) -> str:
    p95 = statistics.quantiles(times, n=20)[-1]
    return (
        f"{what}: p50 {statistics.median(times):.0f} ms, p95 {p95:.0f} ms, longest {max(times):.0f} ms"
        f" ({len(times):,} times)\n"
    )


main(sys.argv[1:])
