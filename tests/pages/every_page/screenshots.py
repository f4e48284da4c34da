"""Take pictures of every page, wide and narrow, light and dark (`make screenshots`).

It brings servers and a filled workspace of its own, and prints what it wrote.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_FOLDER = Path("screenshots")
# Pictures below the window are not asked for until somebody scrolls to them.
_DRAWN = """() => Promise.all([...document.images].map((image) => {
  image.loading = "eager";
  return image.decode().catch(() => null);
}))"""


def main(arguments: Sequence[str]) -> int:
    """Take screenshots of all pages, or of those whose names begin with one of `arguments`."""
    with _serve_ground() as (url, ground):
        for name in _take_screenshots(url, ground, tuple(arguments)):
            print(name, flush=True)  # noqa: T201  # the list is what it is called for
    return 0


def _take_screenshots(url: str, ground: object, wanted: tuple[str, ...]) -> Iterator[Path]:
    """Take the screenshots; yield each file."""
    from tests.pages.every_page.registry import PAGES
    from tests.pages.every_page.visit import SIZES, THEMES, open_page_of, turn_to
    from tests.support.browser import running_browser

    _FOLDER.mkdir(exist_ok=True)
    with running_browser() as browser:
        for entry in (page for page in PAGES if page.label.startswith(wanted or "")):
            for size in SIZES:
                with open_page_of(
                    browser, url, ground, entry, viewport=size, reduced_motion="reduce"
                ) as page:
                    turn_to(page, ground, entry)
                    page.evaluate(_DRAWN)
                    for theme in THEMES:
                        page.emulate_media(color_scheme=theme)
                        file = _FOLDER / f"{entry.label}-{size['width']}-{theme}.png"
                        page.screenshot(path=file, full_page=True, animations="disabled")
                        yield file


@contextmanager
def _serve_ground() -> Iterator[tuple[str, object]]:
    """Run servers on a temporary data directory; yield the pages' address and the ground."""
    data_dir = Path(tempfile.mkdtemp(prefix="kebab-screenshots-"))
    # Postgres runs as another user when root runs this: let it pass through.
    data_dir.chmod(0o711)
    named = {"KEBAB_DATA_DIR": str(data_dir), "KEBAB_EMBEDDER": "hash", "KEBAB_NODE_ID": "screenshots"}
    os.environ |= {"DJANGO_SETTINGS_MODULE": "kebab.settings", "DJANGO_ALLOW_ASYNC_UNSAFE": "true", **named}
    try:
        with _ground_on(data_dir) as found:
            yield found
    finally:
        shutil.rmtree(data_dir, ignore_errors=True)


@contextmanager
def _ground_on(data_dir: Path) -> Iterator[tuple[str, object]]:
    import django

    django.setup()
    from django.test.utils import setup_databases, setup_test_environment

    from ingest.jobs.items.worker import digester_pool
    from kebab.stack.paths import DataDirectory
    from kebab.stack.servers.postgres import EmbeddedPostgres
    from kebab.stack.servers.redis import EmbeddedRedis
    from kebab.tenancy.current_workspace import acting_everywhere
    from tests.api.mcp.web_server import running_web_server
    from tests.pages.every_page.ground import prepared_ground

    DataDirectory(data_dir).ensure()
    setup_test_environment()
    with EmbeddedPostgres(data_dir), EmbeddedRedis(data_dir), acting_everywhere():
        setup_databases(verbosity=0, interactive=False, aliases=["default"])
        with prepared_ground(data_dir / "ground") as ground, running_web_server() as url:
            yield url, ground
        digester_pool().close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
