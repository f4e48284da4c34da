"""Pages are compared by their texts: copies under many addresses, changes, and pages without text."""

import itertools
import json
import re
from calendar import month_name
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.integration.ingest.connectors.web.site import Page
from tests.support.jobs import counts, indexed_texts, sync

pytestmark = pytest.mark.usefixtures("reachable_sites")

_PAGES = 7
_MONTHS = tuple(month_name)[1:]
_SUBJECTS = (
    *("anchors", "buoys", "cranes", "docks", "eddies", "ferries", "gales", "harbours", "islands", "jetties"),
    "keels",
)


class Served(dict):
    """Pages made at each request by `answer(path, query, number)`; None is a 404."""

    def __init__(self, answer):
        super().__init__()
        self._answer = answer
        self._numbers = itertools.count(1)

    def get(self, key, default=None):
        """Return the answer for a path and query."""
        if key == "/robots.txt":
            return default
        parts = urlsplit(key)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        found = self._answer(parts.path, query, next(self._numbers))
        page = page_of(found) if isinstance(found, str) else found
        return page or default


def page_of(text, links=(), head="", **options):
    anchors = "".join(f'<li><a href="{link}">{link.partition("?")[0]}</a></li>' for link in links)
    body = f"<html><head><title>Port</title>{head}</head><body>{text}<ul>{anchors}</ul></body></html>"
    return Page(body=body.encode(), is_tagged=False, **options)


def about(number):
    """Return the text of a page."""
    return (
        f"<h1>Part {number}</h1><p>The {_SUBJECTS[number % 11]} of the port, and {number} things on them.</p>"
    )


def linked(path, links, prefix="/p", suffix=""):
    """Return the number in a path such as /p7, and whether it is the start page."""
    found = re.fullmatch(rf"{prefix}(\d+){suffix}", path)
    return None if found is None or int(found[1]) not in links else int(found[1])


def canonical_home(path, query, request):
    head = '<link rel="canonical" href="/">'
    if path == "/":
        return page_of("<h1>Port</h1>", [f"/p{n}" for n in range(_PAGES)], head)
    number = linked(path, range(_PAGES))
    return None if number is None else page_of(about(number), ["/"], head)


def chosen_by_id(path, query, request):
    if path != "/":
        return None
    if "id" in query:
        return page_of(about(int(query["id"]))) if query["id"].isdecimal() else None
    return page_of("<h1>Port</h1>", [f"/?id={n}" for n in range(_PAGES)])


def chosen_by_page(path, query, request):
    if path != "/list.php":
        return page_of("<h1>Port</h1>", ["/list.php"]) if path == "/" else None
    number = int(query.get("page", "1"))
    return page_of(about(number), [f"/list.php?page={n}" for n in range(1, 6)])


def tracked(path, query, request):
    links = [f"/p{n}?utm_source=mail&utm_campaign=c{request}" for n in range(_PAGES)]
    if path == "/":
        return page_of("<h1>Port</h1>", links)
    number = linked(path, range(_PAGES))
    return None if number is None else page_of(about(number), links)


def session_parameter(path, query, request):
    links = [f"/p{n}.php?sid={request:08x}" for n in range(_PAGES)]
    if path == "/":
        return page_of("<h1>Port</h1>", links)
    number = linked(path, range(_PAGES), suffix=r"\.php")
    return None if number is None else page_of(about(number), links)


def session_and_id(path, query, request):
    links = [f"/view?id={n}&PHPSESSID={request:08x}" for n in range(_PAGES)]
    if path == "/":
        return page_of("<h1>Port</h1>", links)
    if path != "/view" or not query.get("id", "").isdecimal():
        return page_of("<p>Choose a part.</p>")
    return page_of(about(int(query["id"])), links)


def sorted_lists(path, query, request):
    orders = ["name", "size", "date", "owner", "kind", "rank"]
    if path != "/":
        return None
    rows = [f"<tr><td>{subject}</td><td>{n} t</td></tr>" for n, subject in enumerate(_SUBJECTS)]
    turn = orders.index(query["sort"]) if query.get("sort") in orders else 0
    return page_of(f"<table>{''.join(rows[turn:] + rows[:turn])}</table>", [f"/?sort={o}" for o in orders])


def session_path(count, write):
    def answer(path, query, request):
        path = re.sub(r";jsessionid=\w+|/\(S\(\w+\)\)", "", path)
        links = [write(f"/p{n}", f"{request:016x}") for n in range(count)]
        if path == "/":
            return page_of("<h1>Port</h1>", links)
        number = linked(path, range(count))
        return None if number is None else page_of(about(number), links[number + 1 : number + 3])

    return answer


def required_session(path, query, request):
    found = re.fullmatch(r"(?:/\(S\(\w+\)\))?(/.*)", path)
    if found[1] == path:
        return Page(status=302, headers=(("Location", f"/(S({request:024x})){path}"),), is_tagged=False)
    return session_path(_PAGES, lambda path, token: path)(found[1], query, request)


def matrix(path, query, request):
    if path == "/":
        return page_of("<h1>Port</h1>", [f"/port;v={n}" for n in range(_PAGES)])
    number = linked(path, range(_PAGES), prefix="/port;v=")
    return None if number is None else page_of(about(number))


def token_in_path(path, query, request):
    found = re.fullmatch(r"/s/\w+/p(\d)", path)
    links = [f"/s/{request:016x}/p{n}" for n in range(_PAGES)]
    if path == "/":
        return page_of("<h1>Port</h1>", links)
    return page_of(about(int(found[1]))) if found else None


def same_everywhere(path, query, request):
    links = [f"/p{n}" for n in range(_PAGES)] + [f"/copies/{n}" for n in range(5)]
    if path == "/":
        return page_of("<h1>Port</h1>", links)
    number = linked(path, range(_PAGES))
    if number is not None:
        return page_of(about(number))
    return page_of("<p>The pilots of the port.</p>") if path.startswith("/copies/") else None


def shells(path, query, request):
    head = '<script src="/app.js"></script>'
    links = [f"/app/{n}" for n in range(4)] + [f"/p{n}" for n in range(6)]
    if path == "/":
        return page_of("<h1>Port</h1>", links)
    if path.startswith("/app/"):
        need = "<noscript>You need to enable JavaScript to run this app.</noscript>"
        return Page(body=f"<html><head>{head}</head><body>{need}<div id=root></div></body></html>".encode())
    number = linked(path, range(6))
    return None if number is None else page_of(about(number), (), head)


def soft_404(path, query, request):
    if path == "/":
        return page_of("<h1>Port</h1>", [f"/p{n}" for n in range(_PAGES)])
    number = linked(path, range(_PAGES - 3))
    lost = f"<h1>Not found</h1><p>There is no page {path} here.</p>"
    return page_of(about(number) if number is not None else lost, ["/"])


def frames(path, query, request):
    if path == "/":
        return "<frameset><frame src=nav.html><frame src='p0'><noframes>Old.</noframes></frameset>"
    if path == "/nav.html":
        return page_of("<h2>Contents</h2>", [f"/p{n}" for n in range(_PAGES)])
    number = linked(path, range(_PAGES))
    return None if number is None else page_of(about(number))


def calendar(path, query, request):
    if path == "/":
        return page_of("<h1>Port</h1>", [f"/p{n}" for n in range(5)] + ["/calendar?month=2026-11"])
    number = linked(path, range(5))
    if number is not None:
        return page_of(about(number))
    year, month = map(int, query["month"].split("-"))
    days = "".join(f"<td>{day}</td>" for day in range(1, 29 + month % 3))
    event = "<p>Regatta of the pilots</p>" if (year, month) == (2026, 12) else "<p>No events.</p>"
    text = f"<h1>{_MONTHS[month - 1]} {year}</h1><table><tr>{days}</tr></table>{event}"
    others = [divmod(year * 12 + month - 1 + step, 12) for step in (-1, 1)]
    return page_of(text, [f"/calendar?month={y}-{m + 1:02}" for y, m in others])


@pytest.mark.parametrize(
    ("answer", "documents", "skipped"),
    [
        pytest.param(canonical_home, _PAGES + 1, {}, id="every page names the home page as canonical"),
        pytest.param(chosen_by_id, _PAGES + 1, {}, id="a parameter chooses the page"),
        pytest.param(chosen_by_page, 6, {"same_text": 1}, id="a parameter turns pages"),
        pytest.param(tracked, _PAGES + 1, {"same_text": ...}, id="tracking parameters"),
        pytest.param(session_parameter, _PAGES + 1, {"same_text": ...}, id="session in a parameter"),
        pytest.param(
            session_and_id, _PAGES + 1, {"same_text": ...}, id="session beside a parameter that counts"
        ),
        pytest.param(sorted_lists, 1, {"same_text": ...}, id="orders of a list"),
        pytest.param(
            session_path(_PAGES, "{0};jsessionid={1}".format), _PAGES + 1, {}, id="session in the path"
        ),
        pytest.param(session_path(_PAGES, "/(S({1})){0}".format), _PAGES + 1, {}, id="session as a folder"),
        pytest.param(required_session, _PAGES + 1, {}, id="session that the server asks for"),
        pytest.param(
            session_path(199, "{0};jsessionid={1}".format), 200, {}, id="large", marks=pytest.mark.slow
        ),
        pytest.param(matrix, _PAGES + 1, {}, id="parameters of paths that count"),
        pytest.param(token_in_path, _PAGES + 1, {}, id="token in the path"),
        pytest.param(same_everywhere, _PAGES + 2, {"same_text": 4}, id="copies"),
        pytest.param(shells, 7, {"empty_page": 4}, id="pages that need scripts"),
        pytest.param(soft_404, _PAGES - 2, {"not_found": 3}, id="errors with status 200"),
        pytest.param(frames, _PAGES + 1, {"empty_page": 1}, id="frames"),
        pytest.param(calendar, 8, {"same_text": ..., "many_alike": ...}, id="endless calendar"),
    ],
)
def test_pages_are_compared_by_their_texts(workspace, site, make_source, answer, documents, skipped):
    site.pages = Served(answer)
    source = make_source()
    report = sync(source)
    assert (counts(report)["new"], report["failed"]) == (documents, 0), json.dumps(report, default=str)
    found = report["skipped_by_reason"]
    assert found.keys() == skipped.keys()
    assert all(number in (..., found[reason]) for reason, number in skipped.items())
    paths = indexed_texts(workspace).keys()
    assert len(site.targets()) < 100 + 3 * documents
    again = counts(sync(source))
    assert {name: again.get(name, 0) for name in ("new", "updated", "deleted", "unchanged")} == {
        "new": 0,
        "updated": 0,
        "deleted": 0,
        "unchanged": documents,
    }
    assert indexed_texts(workspace).keys() == paths


def restless(word, price):
    """Return a page whose tokens, times and counters are others at every request."""

    def answer(path, query, request):
        if path == "/":
            return page_of(
                f"<h1>Port</h1><p>Generated at 2026-11-30 10:{request % 60:02}</p>", ["/p1", "/p2"]
            )
        token = f'<meta name="csrf" content="{request:032x}"><script nonce="{request:x}">1</script>'
        number = linked(path, (1, 2))
        if number is None:
            return None
        text = (
            f"{about(number)}<p>The pilots {word} the ships.</p><p>It costs {price} a day.</p>"
            f"<form><input type=hidden name=token value={request:x}></form><p>Session {request:032x}</p>"
            f"<footer>Mon Nov 30 09:{request % 60:02}:30 2026, page {request} made in 0.0{request} s</footer>"
        )
        return page_of(text, [f"/p1?token={request}"], token)

    return answer


def test_one_word_is_a_change_and_tokens_and_times_are_not(workspace, site, make_source):
    site.pages = Served(restless("guide", 12))
    source = make_source()
    assert counts(sync(source))["new"] == 3
    again = sync(source)
    assert (again["new"], again["updated"], again["unchanged"]) == (0, 0, 3)
    for word, price in (("lead", 12), ("lead", 13)):
        site.pages = Served(restless(word, price))
        assert counts(sync(source))["updated"] == 2
    assert any("13 a day" in text for text in indexed_texts(workspace)["p1.html"])
