"""Text of responses."""

import html
import re


def markup_of(response, status=200):
    """Return a page's markup with single spaces, after a check of its status."""
    assert response.status_code == status, response.content
    return " ".join(response.content.decode().split())


def text_of(response):
    """Return the visible text of a page."""
    without_tags = re.sub(r"<[^>]+>", " ", markup_of(response))
    return html.unescape(" ".join(without_tags.split()))
