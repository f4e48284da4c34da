"""Pages selected by content type and address."""

from ingest.connectors.walk_rules import WalkRules
from ingest.connectors.web.content import MAX_HTML_BYTES, limit_bytes, may_be_readable, mime_of, readable_path


def test_content_type_and_then_the_url_decide_the_format(subtests):
    for path, mime, read_as in [
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
    ]:
        with subtests.test(case=(path, mime)):
            assert readable_path(path, mime) == read_as
    assert mime_of(" Text/HTML ; charset=utf-8") == "text/html"


def test_addresses_of_media_are_not_requested():
    assert [may_be_readable(path) for path in ("a.zip", "a.mp4", "a.md", "a")] == [False, False, True, True]


def test_each_kind_has_its_limit():
    limits = [limit_bytes(path, WalkRules()) for path in ("a.html", "a.py", "a.txt")]
    assert limits == [MAX_HTML_BYTES, 512 * 1024, 100 * 1024 * 1024]
