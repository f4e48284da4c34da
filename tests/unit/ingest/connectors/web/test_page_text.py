"""Fingerprints of pages: what counts as their text, and what as a change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.connectors.web.page_text import PageText

URL = "http://example.org/docs/boats.html"


def read(html):
    return PageText.of_html(html, URL)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "<p>Tides <b>rise</b></p>",
            "<div id=x class=y>Tides&#32;rise</div><!-- 5 --><script>var a=5</script>",
        ),
        ("<p>a</p><p>b</p>", "<ul><li>b<li>a</ul>"),
        ("<p>Made at 10:02:03 today", "<p>Made at 23:59:59 today"),
        ("<p>Last updated: 30 November 2026, 09:13 UTC", "<p>Last updated: 1 May 2024, 22:00 UTC"),
        ("<p>Viewed 1,234 times", "<p>Viewed 7 times"),
        ("<p>Besucher: 1", "<p>Besucher: 2"),
        ("<p>Made in 0.12 seconds", "<p>Made in 1.01 seconds"),
        ("<p>Session: 8f3a2b1c9d", "<p>Session: a0b1c2d3e4"),
        ("<form>a<input type=hidden value=1></form>", "<form>a<input type=hidden value=2></form>"),
    ],
)
def test_texts_are_equal(one, other):
    assert read(one) == read(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<p>Tides rise", "<p>Tides fall"),
        ("<p>It costs 10 euros", "<p>It costs 12 euros"),
        ("<p>Session tomorrow at 9", "<p>Session on Monday at 9"),
        ("<p>Open from 9:00 to 17:00", "<p>Open from 10:00 to 17:00"),
        ("<p>The regatta is on 3 May", "<p>The regatta is on 4 May"),
        ("<p>It stops after 30 seconds", "<p>It stops after 60 seconds"),
        ("<img alt='A boat'>", "<img alt='A ship'>"),
        ("<meta name=description content=a><p>x", "<meta name=description content=b><p>x"),
        ("<textarea>a</textarea>", "<textarea>b</textarea>"),
        ("<p>" + "x " * 600_000 + "a", "<p>" + "x " * 600_000 + "b"),
    ],
)
def test_texts_differ(one, other):
    assert read(one).text != read(other).text


def test_lines_with_other_numbers_are_named():
    one, other = (read(f"<p>It costs {n} euros</p><p>Room 5</p>") for n in (10, 12))
    assert len(one.changed_numbers(other)) == 1
    assert one.changed_numbers(read("<p>It was 10 euros</p><p>Room 5</p>")) is None
    assert read("").changed_numbers(read("")) is None


def test_navigation_counts_beside_the_main_text():
    one, other = read("<nav>Home</nav><p>Tides"), read("<header>Ports<p>x</header><p>Tides")
    assert (one.main, one.text != other.text) == (other.main, True)
    assert read("<nav>Home</nav>").main


@pytest.mark.parametrize(
    ("html", "is_shell"),
    [
        ("<div id=root></div><script src=a></script>", True),
        ("<header>Port</header><div id='app'> </div><script src=a></script>", True),
        ("<p>Loading…</p><script src=a></script>", True),
        ("<noscript>Please enable JavaScript.</noscript><script src=a></script>", True),
        ("<p>This application requires JavaScript to run.</p><script src=a></script>", True),
        ("<frameset><frame src=a></frameset>", True),
        ("<nav>" + "Home Docs About " * 20 + "</nav><div id=root></div><script></script>", True),
        ("<noscript>This site needs JavaScript.</noscript><div id=root></div>", True),
        ("<header>All of the text of the port is here</header><script></script>", False),
        ("<textarea><frameset></textarea>" + "<p>The boats of the port" * 5, False),
        ("<p>A short page.</p><script src=a></script>", False),
        ("<p>The JavaScript guide of the port.</p><script src=a></script>", False),
        (
            "<noscript>Enable JavaScript.</noscript><p>A page that shows text to all</p><script></script>",
            False,
        ),
        ("<div id=root></div>", False),
        ("", False),
    ],
)
def test_shells_are_recognised(html, is_shell):
    assert read(html).is_shell == is_shell


def test_errors_are_equal_apart_from_the_address():
    pages = (
        PageText.of_html(f"<h1>Not found</h1><p>“{name}” ({key}) is not here. Error {n}", f"http://a{key}")
        for n, (name, key) in enumerate(
            [("boats", "/boats"), ("no-such", "/x/no-such.html"), ("7", "/v?id=7")]
        )
    )
    assert len({page.missing for page in pages}) == 1
    assert read("<p>The boats of the port").missing == ""


@given(st.text(alphabet="<>/ap !-script1:\"='&#;", max_size=200))
def test_every_page_has_fingerprints(html):
    assert read(html) == read(html)


def test_fingerprints_take_linear_time(subtests):
    for piece in (
        "<a '",
        "<!--",
        "<script>",
        "<div id=root> ",
        "1:1 ",
        "views 1",
        "<p>1",
        "now 1 may ",
        "a" * 50 + " ",
    ):
        with subtests.test(case=piece):
            read(piece * (100_000 // len(piece)))
