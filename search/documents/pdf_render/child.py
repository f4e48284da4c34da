"""Program of the sandboxed process that renders a page of a PDF as a PNG.

Run as `python -m search.documents.pdf_render.child`, by `search.documents.pdf_render.page`.
"""

import os
from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO

from kebab.sandbox.child import serve
from kebab.sandbox.program import Header

#: Pixels of a page's longer side: legible on a screen, some 100 kB for a page of text.
SIDE = 1_400
#: Fast; a page of text is as small as at the default, since its rows are mostly white.
_LEVEL = 4


def handle(header: Header, _: bytes) -> Iterator[Header]:
    """Yield the page as a picture, None if it doesn't exist."""
    picture = _render_page(header["pdf_fd"], header["page"])
    yield {"png": None if picture is None else b64encode(picture).decode()}


def _render_page(pdf_fd: int, number: int) -> bytes | None:
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        with os.fdopen(pdf_fd, "rb", buffering=0) as file, PdfDocument(file) as document:
            page = document[number - 1]
            scale = SIDE / max(1.0, *page.get_size())
            bitmap = page.render(scale=scale, rev_byteorder=True, draw_annots=True)
            bitmap.to_pil().save(picture := BytesIO(), "PNG", compress_level=_LEVEL)
            return picture.getvalue()
    except PdfiumError:
        return None


if __name__ == "__main__":
    serve(handle)
