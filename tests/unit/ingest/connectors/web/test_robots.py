"""Rules of robots.txt by RFC 9309, and directives of pages."""

from ingest.connectors.web.robots import Directives, RobotRules


def test_rules_follow_the_standard(subtests):
    for text, path, is_allowed in [
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
        # Exponential time would never end.
        ("User-agent: *\nDisallow: /" + "*a" * 10_000 + "\n", "/" + "a" * 900, True),
    ]:
        with subtests.test(text=text[:80], path=path[:20]):
            assert RobotRules(text.encode()).allows(f"https://example.org{path}") is is_allowed


def test_site_limits_the_rate_of_requests(subtests):
    for text, interval_s in [
        ("", 0.0),
        ("User-agent: *\nCrawl-delay: 2.5\n", 2.5),
        ("User-agent: *\nRequest-rate: 1/10\n", 10.0),
        ("User-agent: *\nCrawl-delay: soon\n", 0.0),
        ("User-agent: *\nCrawl-delay: 9\nUser-agent: kebab\nCrawl-delay: 1\n", 1.0),
    ]:
        with subtests.test(case=text):
            assert RobotRules(text.encode()).interval_s == interval_s


def test_directives_come_from_meta_elements_and_headers(subtests):
    for metas, headers, asked in [
        ([], [], (False, False)),
        ([("robots", "NoIndex, follow")], [], (True, False)),
        ([("kebab", "none")], [], (True, True)),
        ([], ["noindex"], (True, False)),
        ([], ["otherbot: noindex, nofollow"], (False, False)),
        ([], ["otherbot: noindex, kebab: nofollow"], (False, True)),
        ([], ["unavailable_after: 25 Jun 2010 15:00:00 PST", "nofollow"], (False, True)),
        ([], ["max-snippet: 5, noindex"], (True, False)),
        ([("robots", "index, nofollow")], ["noindex"], (True, True)),
    ]:
        with subtests.test(metas=metas, headers=headers):
            directives = Directives.parse(metas, headers)
            assert (directives.noindex, directives.nofollow) == asked
