"""`python -m tests.keystrokes WORKSPACE`: how long after a key its hits are seen, in a real browser.

The stack of KEBAB_DATA_DIR must be running (`kebab up`). Queries are headings of the workspace, drawn by a
fixed seed as `kebab bench` draws them, each typed key by key. A key's time ends when hits of a query that
has it are painted: where the next key comes before them, with the next key's.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
django.setup()

# Django is set up first.
from django.conf import settings  # noqa: E402
from playwright.sync_api import Page  # noqa: E402

from ingest.cli.bench.searching import heading_queries  # noqa: E402
from kebab.cli.resolve import the_workspace  # noqa: E402
from kebab.people.models import Membership, Role, User, Workspace  # noqa: E402
from kebab.stack.state import running_state  # noqa: E402
from kebab.stack.temporary import borrowed_stack  # noqa: E402
from kebab.tenancy.acting import acting_everywhere  # noqa: E402
from search.models import Chunk  # noqa: E402
from tests.browsing import running_browser, session_cookie  # noqa: E402

_LISTEN = (Path(__file__).parent / "typing.js").read_text()
_EMAIL = "typist@kebab.invalid"
_WARM_UP = 5


def main(arguments: list[str]) -> None:
    """Type the queries, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.keystrokes")
    parser.add_argument("workspace")
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--pace-ms", type=int, default=200, help="between two keys (default: 200)")
    asked = parser.parse_args(arguments)
    state = running_state(settings.KEBAB_DATA_DIR)
    if state is None:
        parser.error("No stack is running; start it with: kebab up")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # playwright runs an event loop in this thread
    with borrowed_stack(), acting_everywhere():
        workspace = the_workspace(asked.workspace)
        chunks = Chunk.objects.in_workspace(workspace).count()
        queries = heading_queries(workspace, asked.queries + _WARM_UP)
        times = _typed(workspace, f"http://127.0.0.1:{settings.KEBAB_PORT}", queries, asked.pace_ms)
    cuts = statistics.quantiles(times, n=20)
    sys.stdout.write(
        f"{chunks:,} chunks, {len(times):,} keys, one in {asked.pace_ms} ms: from key to painted hits"
        f" p50 {statistics.median(times):.0f} ms, p95 {cuts[-1]:.0f} ms, longest {max(times):.0f} ms\n"
    )


def _typed(workspace: Workspace, url: str, queries: list[str], pace_ms: int) -> list[float]:
    """Give the milliseconds of each key, as a member who is gone afterwards."""
    person = User.objects.create_user(_EMAIL)
    try:
        Membership.objects.create(workspace=workspace, user=person, role=Role.VIEWER)
        with running_browser() as browser:
            context = browser.new_context(base_url=url)
            context.add_cookies([session_cookie(person, url)])
            page = context.new_page()
            page.goto(f"/w/{workspace.slug}/search")
            page.evaluate(_LISTEN)
            for query in queries[:_WARM_UP]:
                _type(page, query, pace_ms)
            return [time for query in queries[_WARM_UP:] for time in _type(page, query, pace_ms)]
    finally:
        person.delete()


def _type(page: Page, query: str, pace_ms: int) -> list[float]:
    box = page.get_by_role("searchbox")
    box.fill("")
    page.wait_for_function("document.querySelectorAll('.hit').length === 0")
    page.wait_for_timeout(pace_ms)
    page.evaluate("takeKeys()")
    box.press_sequentially(query, delay=pace_ms)
    page.wait_for_timeout(1_000)
    return [time for time in page.evaluate("takeKeys()") if time is not None]


main(sys.argv[1:])
