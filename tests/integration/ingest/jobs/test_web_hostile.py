"""Sites that lie, hang, flood and lead astray: the job ends, the other pages are indexed."""

import gzip
import socket
from itertools import count, repeat

import pytest

from ingest.connectors.web import content, sitemap
from search.corpus import ensure_source
from tests.integration.ingest.jobs.authority import Authority
from tests.integration.ingest.jobs.site import Page, html, redirect, serving
from tests.support.jobs import failure, indexed, sync

pytestmark = pytest.mark.usefixtures("reachable_sites")


@pytest.fixture
def site():
    with serving() as running:
        yield running


@pytest.fixture
def source(workspace, site):
    return ensure_source(workspace, "site", kind="web", config={"url": site.url()})


def bad(site, page, **config):
    """Have the site lead to one bad page and one good one."""
    site.pages["/"] = html("Home", "/bad.html", "/good.html")
    site.pages["/bad.html"] = page if isinstance(page, Page) else Page(behaviour=page)
    site.pages["/good.html"] = html("Good")


def slow(exchange):
    exchange.begin(("Content-Length", "1000000"))
    exchange.drip(repeat(b"x"), every_s=0.05)


def silent(exchange):
    exchange.server.released.wait()


def broken_off(exchange):
    exchange.begin(("Content-Length", "1000"))
    exchange.wfile.write(b"<p>and then")


def no_http(exchange):
    exchange.wfile.write(b"220 mail.example.org ESMTP\r\n\r\n")
    exchange.close_connection = True


def flooding_head(exchange):
    exchange.send_response(200)
    for number in range(2_000):
        exchange.send_header(f"X-{number}", "x" * 100)
    exchange.end_headers()


def broken_gzip(exchange):
    exchange.answer(Page(body=gzip.compress(b"x" * 1000)[:-12], headers=(("Content-Encoding", "gzip"),)))


def no_gzip(exchange):
    exchange.answer(Page(body=b"plain", headers=(("Content-Encoding", "gzip"),)))


def other_packing(exchange):
    exchange.answer(Page(body=b"plain", headers=(("Content-Encoding", "br"),)))


@pytest.mark.parametrize(
    "behaviour",
    [slow, silent, broken_off, no_http, flooding_head, broken_gzip, no_gzip, other_packing],
)
def test_a_page_that_never_comes_right_is_failed_and_the_others_are_read(
    workspace, site, source, settings, behaviour
):
    settings.KEBAB_CRAWL_LIMIT_S = 3 if behaviour in (slow, silent) else 60
    bad(site, behaviour)
    assert sync(source)["failed_by_reason"] == {"unreadable": 1}
    assert indexed(workspace).keys() == {"index.html", "good.html"}


def endless(exchange):
    exchange.begin()
    exchange.drip((b"<p>more</p>" * 10_000 for _ in count()), every_s=0)


def large_by_its_word(exchange):
    exchange.begin(("Content-Length", str(10**12)))


def bomb(exchange):
    packed = gzip.compress(bytes(20_000_000), compresslevel=1)
    exchange.answer(Page(body=packed, headers=(("Content-Encoding", "gzip"),)))


@pytest.mark.parametrize("behaviour", [endless, large_by_its_word, bomb])
def test_a_page_that_is_too_large_is_skipped(workspace, site, source, monkeypatch, behaviour):
    monkeypatch.setattr(content, "MAX_HTML_BYTES", 1_000_000)
    bad(site, behaviour)
    assert sync(source)["skipped_by_reason"] == {"too_large": 1}
    assert indexed(workspace).keys() == {"index.html", "good.html"}


def test_a_packed_sitemap_that_grows_without_end_is_refused(workspace, site, monkeypatch):
    monkeypatch.setattr(sitemap, "MAX_SITEMAP_BYTES", 1_000_000)
    site.pages["/map.xml.gz"] = Page(body=gzip.compress(b" " * 20_000_000), mime="application/gzip")
    config = {"sitemap": site.url("/map.xml.gz")}
    assert "unpacks to more than 1,000,000 bytes" in failure(
        ensure_source(workspace, "map", kind="web", config=config)
    )


@pytest.mark.parametrize(
    "page",
    [
        Page(body=b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(200)), mime="text/html"),
        Page(body=b"%PDF-1.7 broken", mime="application/pdf"),
        Page(body=b"MZ\x90\x00" + bytes(300), mime="application/octet-stream"),
        Page(body=b"PK\x03\x04" + bytes(100), mime="text/plain"),
        Page(body=b"x", mime="no type at all"),
        Page(body=b"x", mime="\xff/\xfe"),
        Page(body=b"", mime="text/html"),
    ],
)
def test_a_page_that_is_not_what_it_says_harms_nobody(workspace, site, source, page):
    bad(site, page)
    report = sync(source)
    assert report["seen"] == 3
    assert indexed(workspace)["good.html"] == ["All about Good."]


@pytest.mark.parametrize(
    "location",
    [
        "http://localhost:{port}/",
        "http://169.254.169.254/latest/meta-data/",
        "//[::1]:{port}/",
        "http://127.0.0.1:1/",
        "https://127.0.0.1:{port}/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "http://user:secret@127.0.0.1:{port}/x",
        "http://[::1",
        "http://127.0.0.1:99999999/",
        "",
    ],
)
def test_a_redirect_off_the_host_is_not_followed(workspace, site, source, monkeypatch, location):
    connected = []
    create = socket.create_connection

    def note(address, *arguments, **options):
        connected.append(address)
        return create(address, *arguments, **options)

    monkeypatch.setattr(socket, "create_connection", note)
    port = site.server_address[1]
    bad(site, redirect(location.format(port=port)))
    sync(source)
    assert indexed(workspace).keys() == {"index.html", "good.html"}
    assert set(connected) == {("127.0.0.1", port)}


def test_a_start_page_that_leads_to_a_private_address_fails_with_that_reason(site, source):
    site.pages["/"] = redirect("http://169.254.169.254/latest/meta-data/")
    assert "a source reads one host" in failure(source)


@pytest.mark.parametrize("location", ["/", "/a", "/x/{n}"])
def test_a_start_page_that_redirects_without_end_fails(site, source, location):
    site.pages["/"] = redirect(location.format(n=0))
    site.pages["/a"] = redirect("/")
    for number in range(30):
        site.pages[f"/x/{number}"] = redirect(f"/x/{number + 1}")
    assert "in a circle" in failure(source)


def test_a_private_address_is_refused_unless_the_operator_allows_it(site, source, settings):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"example.org"})
    assert "KEBAB_PRIVATE_HOSTS" in failure(source)
    assert site.asked == []


def test_a_name_that_leads_to_a_private_address_is_refused(workspace, site, settings, monkeypatch):
    port = site.server_address[1]
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: found)
    source = ensure_source(workspace, "named", kind="web", config={"url": f"http://docs.example.org:{port}/"})
    assert "private address" in failure(source)
    assert site.asked == []


def test_a_name_that_leads_elsewhere_after_it_was_checked_gains_nothing(
    workspace, site, settings, monkeypatch
):
    settings.KEBAB_PRIVATE_HOSTS = frozenset()
    monkeypatch.setattr("kebab.outgoing.addresses._is_public", lambda address: address == "127.0.0.1")
    port = site.server_address[1]
    answers, connected = iter(["127.0.0.1", "127.0.0.3"]), []
    create, look_up = socket.create_connection, socket.getaddrinfo

    def rebinding(host, *arguments, **options):
        if host != "docs.example.org":
            return look_up(host, *arguments, **options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    def note(address, *arguments, **options):
        connected.append(address)
        return create(address, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr(socket, "create_connection", note)
    site.pages["/robots.txt"] = Page(headers=(("Connection", "close"),))
    source = ensure_source(workspace, "named", kind="web", config={"url": f"http://docs.example.org:{port}/"})
    assert "private address" in failure(source)
    # The first connection went to what had been checked, and the second look-up was checked anew.
    assert connected == [("127.0.0.1", port)]
    assert [asked.target for asked in site.asked] == ["/robots.txt"]


def test_a_start_page_that_never_answers_deletes_nothing(workspace, site, source, settings):
    site.pages["/"] = html("Home", "/good.html")
    site.pages["/good.html"] = html("Good")
    sync(source)
    settings.KEBAB_CRAWL_LIMIT_S = 3
    site.pages["/"] = Page(behaviour=silent)
    assert "did not answer in time" in failure(source)
    assert indexed(workspace).keys() == {"index.html", "good.html"}


def test_a_page_is_no_longer_than_its_server_says(workspace, site, source):
    def longer(exchange):
        body = b"<p>said</p>"
        exchange.begin(("Content-Length", str(len(body))))
        exchange.wfile.write(body + b"<p>smuggled</p>")

    bad(site, longer)
    sync(source)
    assert indexed(workspace)["bad.html"] == ["said"]


@pytest.fixture
def authority(tmp_path, monkeypatch):
    made = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    return made


def test_a_site_is_read_over_tls_with_an_authority_of_the_operators(workspace, authority):
    with serving(context=authority.context("127.0.0.1")) as site:
        site.pages["/"] = html("Home", "/a.html")
        site.pages["/a.html"] = html("A")
        source = ensure_source(workspace, "tls", kind="web", config={"url": site.url()})
        assert site.url().startswith("https://")
        assert sync(source)["new"] == 2
        assert sync(source)["unchanged"] == 2


def test_a_redirect_from_tls_into_the_clear_is_not_followed(workspace, authority):
    with serving(context=authority.context("127.0.0.1")) as site:
        site.pages["/"] = redirect(f"http://127.0.0.1:{site.server_address[1]}/x")
        source = ensure_source(workspace, "tls", kind="web", config={"url": site.url()})
        assert "a source reads one host" in failure(source)


@pytest.mark.parametrize(("host", "is_known"), [("docs.example.org", True), ("127.0.0.1", False)])
def test_a_site_that_is_not_who_it_says_is_asked_nothing(workspace, tmp_path, authority, host, is_known):
    signing = authority if is_known else Authority(tmp_path, "stranger")
    with serving(context=signing.context(host)) as site:
        source = ensure_source(workspace, "tls", kind="web", config={"url": site.url()})
        assert "certificate" in failure(source)
        assert site.asked == []


def test_a_site_without_end_is_read_as_far_as_is_allowed(workspace, site):
    numbers = count()

    def grow(exchange):
        exchange.answer(
            html(f"Page {next(numbers)}", *(f"{next(numbers)}/" for _ in range(50)), is_tagged=False)
        )

    class Everywhere(dict):
        def get(self, key, default=None):
            return Page(status=404) if key == "/robots.txt" else Page(behaviour=grow)

    site.pages = Everywhere()
    config = {"url": site.url(), "max_pages": 5}
    report = sync(ensure_source(workspace, "site", kind="web", config=config))
    assert report["new"] == 5
    assert len(site.targets()) == 5


def test_links_that_are_none_are_left_out(workspace, site, source):
    links = [
        "http://[::1",
        "/\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
        "/../../../etc/passwd",
        "/a%00b.html",
        "/a%23b.html",
        "/%2e%2e/%2F.html",
        "/" + "x" * 5_000,
        "/e%CC%81.html",
        "\x00",
        "http://127.0.0.1:port/",
        "//",
        "?",
        "&#1114112;",
    ]
    site.pages["/"] = html("Home", *links)
    for target in ("/etc/passwd", "/a%00b.html", "/a%23b.html", "/%2F.html", "/e%CC%81.html"):
        site.pages[target] = html(target)
    sync(source)
    assert indexed(workspace).keys() == {
        "index.html",
        "etc/passwd.html",
        "a%00b.html",
        "a%23b.html",
        "%2F.html",
        "\u00e9.html",
    }


def test_a_base_that_is_no_address_is_left_out(workspace, site, source):
    # Joined with each link it would take minutes.
    base = f'<base href="/{"x/" * 1_000_000}">'
    site.pages["/"] = html("Home", *["good.html"] * 5_000, head=base)
    site.pages["/good.html"] = html("Good")
    sync(source)
    assert indexed(workspace).keys() == {"index.html", "good.html"}


def test_a_page_of_links_alone_takes_no_more_than_its_share(workspace, site):
    site.pages["/"] = html("Home", *(f"/{number}.html" for number in range(20_000)))
    config = {"url": site.url(), "max_pages": 1}
    report = sync(ensure_source(workspace, "site", kind="web", config=config))
    assert report["new"] == 1
    assert report["skipped_by_reason"]["max_pages"] <= 5_000
