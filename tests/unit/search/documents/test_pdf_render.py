"""Pages of a PDF as pictures."""

from io import BytesIO

import pytest

from search.documents.pdf_render.page import PageNotDrawn, page_png
from tests.support.samples import content_of


def test_page_is_drawn_as_png():
    assert page_png(BytesIO(content_of("pdf/printed.pdf")), 2).startswith(b"\x89PNG")


@pytest.mark.parametrize("content", [content_of("pdf/printed.pdf"), b"%PDF-1.7 words"])
def test_missing_page_and_damaged_pdf_are_not_drawn(content):
    with pytest.raises(PageNotDrawn, match="page 9"):
        page_png(BytesIO(content), 9)
