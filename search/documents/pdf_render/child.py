"""The resource-limited process that renders a page: a PDF on standard input, a PNG on standard output.

Run as `python -m search.documents.pdf_render.child --parent PID --page N`. It ends with its parent.
"""

import argparse
import resource
import signal
import sys

from kebab.stack.supervisor.lifeline import die_with_parent
from search.documents.pdf_render.png import png_of

#: Pixels of a page's longer side: legible on a screen, some 100 kB for a page of text.
SIDE = 1_400
MEMORY_BYTES = 1024**3
CPU_SECONDS = 10


def main() -> int:
    """Render the page; return 1 if it doesn't exist."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--page", type=int, required=True)
    options = parser.parse_args()
    die_with_parent(signal.SIGKILL, parent_pid=options.parent)
    _limit_resources()
    picture = _render_page(options.page)
    if picture is None:
        return 1
    sys.stdout.buffer.write(picture)
    return 0


def _limit_resources() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _render_page(number: int) -> bytes | None:
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        with PdfDocument(sys.stdin.buffer.raw) as document:  # type: ignore[union-attr]  # it is buffered
            page = document[number - 1]
            scale = SIDE / max(1.0, *page.get_size())
            bitmap = page.render(scale=scale, rev_byteorder=True, draw_annots=True)
            size = {"width": bitmap.width, "height": bitmap.height, "stride": bitmap.stride}
            return png_of(bytes(bitmap.buffer), **size)
    except PdfiumError:
        return None


if __name__ == "__main__":
    raise SystemExit(main())
