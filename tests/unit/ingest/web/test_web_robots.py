"""Rules of robots.txt as RFC 9309 has them, and what pages ask of robots."""

import pytest

from ingest.connectors.web.robots import Directives, RobotRules


@pytest.mark.parametrize(
    ("text", "path", "is_allowed"),
    [
        ("", "/a", True),
        ("User-agent: *\nDisallow: /\n", "/a", False),
        ("User-agent: *\nDisallow:\n", "/a", True),
        ("User-agent: *\nDisallow: /\nUser-agent: KEBAB\nAllow: /\n", "/a", True),
        ("User-agent: kebab\nDisallow: /a\n\nUser-agent: kebab\nDisallow: /b\n", "/b", False),
        ("User-agent: other\nUser-agent: kebab\nDisallow: /\n", "/a", False),
        ("User-agent: other\nDisallow: /\n", "/a", True),
        ("User-agent: *\nDisallow: /docs/\nAllow: /docs/open/\n", "/docs/open/a", True),
        ("User-agent: *\nAllow: /a\nDisallow: /a\n", "/a", True),
        ("User-agent: *\nDisallow: /*.pdf$\n", "/x/a.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$\n", "/x/a.pdf.html", True),
        ("User-agent: *\nDisallow: /é\n", "/%C3%A9", False),
        ("User-agent: *\nDisallow: /a%7Eb\n", "/a~b", False),
        ("\ufeffUser-agent: *\r\nDisallow: / # all\r\n", "/a", False),
        ("User-agent: *\nDisallow: /\n", "/robots.txt", True),
        ("<html><body>Not found</body></html>", "/a", True),
    ],
)
def test_rules_are_followed_as_the_standard_has_them(text, path, is_allowed):
    assert RobotRules(text.encode()).allow(f"https://example.org{path}") is is_allowed


@pytest.mark.parametrize(
    ("text", "interval_s"),
    [
        ("", 0.0),
        ("User-agent: *\nCrawl-delay: 2.5\n", 2.5),
        ("User-agent: *\nRequest-rate: 1/10\n", 10.0),
        ("User-agent: *\nCrawl-delay: soon\n", 0.0),
        ("User-agent: *\nCrawl-delay: 9\nUser-agent: kebab\nCrawl-delay: 1\n", 1.0),
    ],
)
def test_a_site_says_how_often_it_is_asked(text, interval_s):
    assert RobotRules(text.encode()).interval_s == interval_s


def test_wildcards_take_no_longer_than_they_should():
    rules = RobotRules(b"User-agent: *\nDisallow: /" + b"*a" * 10_000 + b"\n")
    assert rules.allow("https://example.org/" + "a" * 900)


@pytest.mark.parametrize(
    ("metas", "headers", "asked"),
    [
        ([], [], (False, False)),
        ([("robots", "NoIndex, follow")], [], (True, False)),
        ([("kebab", "none")], [], (True, True)),
        ([], ["noindex"], (True, False)),
        ([], ["otherbot: noindex, nofollow"], (False, False)),
        ([], ["otherbot: noindex, kebab: nofollow"], (False, True)),
        ([], ["unavailable_after: 25 Jun 2010 15:00:00 PST", "nofollow"], (False, True)),
        ([], ["max-snippet: 5, noindex"], (True, False)),
        ([("robots", "index, nofollow")], ["noindex"], (True, True)),
    ],
)
def test_pages_ask_by_meta_elements_and_headers(metas, headers, asked):
    directives = Directives.read(metas, headers)
    assert (directives.noindex, directives.nofollow) == asked
