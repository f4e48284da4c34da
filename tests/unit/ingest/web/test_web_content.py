"""Which pages are read, and under which path, by what the server calls them."""

import pytest

from ingest.connectors.walk_rules import WalkRules
from ingest.connectors.web.content import (
    MAX_HTML_BYTES,
    is_worth_asking,
    limit_bytes,
    mime_of,
    readable_path,
)


@pytest.mark.parametrize(
    ("path", "mime", "read_as"),
    [
        ("a.html", "text/html", "a.html"),
        ("a.htm", "text/html", "a.htm"),
        ("a", "text/html", "a.html"),
        ("v1.2", "text/html", "v1.2.html"),
        ("a.php", "text/html", "a.php.html"),
        ("conf.py", "text/html", "conf.py.html"),
        ("conf.py", "text/plain", "conf.py"),
        ("conf.py", "text/x-python", "conf.py"),
        ("a.md", "text/markdown", "a.md"),
        ("a", "text/markdown", "a.md"),
        ("a", "text/plain", "a"),
        ("a.yaml", "application/octet-stream", "a.yaml"),
        ("a.js", "application/javascript", "a.js"),
        ("a.json", "application/json", "a.json"),
        ("a", "", None),
        ("a", "application/octet-stream", None),
        ("a.html", "image/png", None),
        ("a", "video/mp4", None),
    ],
)
def test_content_decides_and_the_address_where_the_server_knows_nothing(path, mime, read_as):
    assert readable_path(path, mime) == read_as


def test_a_type_is_read_without_its_parameters():
    assert mime_of(" Text/HTML ; charset=utf-8") == "text/html"


@pytest.mark.parametrize(
    ("path", "is_worth"), [("a.zip", False), ("a.mp4", False), ("a.md", True), ("a", True)]
)
def test_what_never_is_text_is_not_asked_for(path, is_worth):
    assert is_worth_asking(path) is is_worth


@pytest.mark.parametrize(
    ("path", "limit"),
    [("a.html", MAX_HTML_BYTES), ("a.py", 512 * 1024), ("a.txt", 100 * 1024 * 1024)],
)
def test_each_kind_has_its_limit(path, limit):
    assert limit_bytes(path, WalkRules()) == limit
