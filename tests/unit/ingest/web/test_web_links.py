"""What a crawler takes from a page, however it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.connectors.web.links import MAX_LINKS, scan_links


def scan(text):
    return scan_links(text, "kebab")


@pytest.mark.parametrize(
    ("text", "links"),
    [
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
        ('<meta http-equiv="Refresh" content="0; URL=next.html">', ["next.html"]),
        ("<meta http-equiv=refresh content=\"5;url='next.html'\">", ["next.html"]),
        ("<meta http-equiv=refresh content=30>", []),
        ("<script><a href=x>", []),
        ("<!-- <a href=x>", []),
        ('<a href="x', []),
        ("<a", []),
    ],
)
def test_links_are_found_as_a_browser_finds_them(text, links):
    assert scan(text).links == links


@pytest.mark.parametrize("content", [" ", "1", ".", "1 ", "1; ", "1;url", "1;url =", "1;url='"])
def test_the_time_of_a_refresh_grows_with_its_length_alone(content):
    # Quadratic time would be hours here.
    scan(f'<meta http-equiv=refresh content="{content * (2_000_000 // len(content))}">')


@pytest.mark.parametrize("digits", ["9" * 5_000, "x" + "9" * 5_000])
def test_a_number_that_is_no_character_takes_no_other_link_with_it(digits):
    assert scan(f'<a href="&#{digits};"><a href="y">').links[-1] == "y"


def test_the_first_base_and_canonical_count():
    found = scan(
        '<base href="/b/"><base href="/c/"><link rel="icon" href="x">'
        '<link rel="CANONICAL alternate" href="/y"><link rel="canonical" href="/z">'
    )
    assert (found.base, found.canonical) == ("/b/", "/y")


def test_what_is_said_to_robots_is_for_all_or_for_us():
    found = scan(
        '<meta name=robots content=noindex><meta name=Kebab content="nofollow"><meta name=bot content=x>'
    )
    assert found.robots == [("robots", "noindex"), ("kebab", "nofollow")]


def test_so_many_links_are_taken():
    assert len(scan("<a href=x>" * (MAX_LINKS + 10)).links) == MAX_LINKS


@given(st.text(alphabet="<>a href='\"=/!-script", max_size=200))
def test_no_page_breaks_the_scan(text):
    assert scan(text) == scan(text)


@pytest.mark.parametrize(
    "piece", ["<a href='", '<a "', "<!--", "<script>", "<a x=", "<a " + " " * 50, "<", "<a b='\"", "<a/"]
)
def test_the_time_of_a_scan_grows_with_the_page_alone(piece):
    # Quadratic time would be hours here.
    scan(piece * (4_000_000 // len(piece)))
