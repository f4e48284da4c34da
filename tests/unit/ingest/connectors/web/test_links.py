"""Links, base, canonical address and robots directives of a page."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.connectors.web.links import MAX_LINKS, scan_links


def scan(text):
    return scan_links(text, "kebab")


def test_links_are_found_as_a_browser_finds_them(subtests):
    for text, links in [
        ('<a href="a.html">', ["a.html"]),
        ("<A class=x HREF=a.html>", ["a.html"]),
        ("<a href='a b.html'\n title='>'>", ["a b.html"]),
        ('<a href = "a?x=1&amp;y=2">', ["a?x=1&y=2"]),
        ('<area href="map.html"/>', ["map.html"]),
        ('<a href=a.html/><a href="b.html"/>', ["a.html/", "b.html"]),
        ('<a data-href="x" name=top><a href="">', []),
        ('<a rel="external nofollow" href="x">', []),
        ('<!-- <a href="x"> --><a href="y">', ["y"]),
        ('<!--><a href="y">', ["y"]),
        ('<script>"<a href=x>"</script><style><a href=x></style ><a href=y>', ["y"]),
        ("<textarea><a href=x></textarea><a href=y>", ["y"]),
        ('<abbr href="x"><address href="x">', []),
        ('<a href="first" href="second">', ["first"]),
        ('<frameset><frame src="a.html"><FRAME src=b></frameset>', ["a.html", "b"]),
        ('<iframe src="x"><a href=y></a></iframe><a href=z>', ["x", "z"]),
        ('<meta http-equiv="Refresh" content="0; URL=next.html">', ["next.html"]),
        ("<meta http-equiv=refresh content=\"5;url='next.html'\">", ["next.html"]),
        ("<meta http-equiv=refresh content=30>", []),
        *((text, []) for text in ("<script><a href=x>", "<!-- <a href=x>", '<a href="x', "<a")),
    ]:
        with subtests.test(case=text):
            assert scan(text).links == links
    for digits in ("9" * 5_000, "x" + "9" * 5_000):  # no character has this number
        assert scan(f'<a href="&#{digits};"><a href="y">').links[-1] == "y"
    assert len(scan("<a href=x>" * (MAX_LINKS + 10)).links) == MAX_LINKS


def test_first_base_and_canonical_count():
    found = scan(
        '<base href="/b/"><base href="/c/"><link rel="icon" href="x">'
        '<link rel="CANONICAL alternate" href="/y"><link rel="canonical" href="/z">'
    )
    assert (found.base, found.canonical) == ("/b/", "/y")


def test_robots_directives_for_other_robots_are_ignored():
    found = scan(
        '<meta name=robots content=noindex><meta name=Kebab content="nofollow"><meta name=bot content=x>'
    )
    assert found.robots == [("robots", "noindex"), ("kebab", "nofollow")]


@given(st.text(alphabet="<>a href='\"=/!-script", max_size=200))
def test_no_page_breaks_the_scan(text):
    assert scan(text) == scan(text)


def test_scan_takes_linear_time(subtests):
    # Quadratic time would be a minute here.
    for piece in ("<a href='", '<a "', "<!--", "<script>", "<a x=", "<a " + " " * 50, "<", "<a b='\"", "<a/"):
        with subtests.test(case=piece):
            scan(piece * (200_000 // len(piece)))
    for content in (" ", "1", ".", "1 ", "1; ", "1;url", "1;url =", "1;url='"):
        with subtests.test(case=content):
            scan(f'<meta http-equiv=refresh content="{content * (200_000 // len(content))}">')
