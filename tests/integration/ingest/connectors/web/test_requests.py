"""Sites that lie, hang, flood or redirect badly: the job ends, and the other pages are indexed."""

import gzip
import os
import signal
import socket
from itertools import count, repeat

import pytest

from ingest.connectors.web import config, content, requests
from kebab.sandbox.worker import SandboxWorker
from search.corpus import ensure_source
from tests.integration.ingest.connectors.authority import Authority
from tests.integration.ingest.connectors.web.site import Page, html, redirect, serving
from tests.integration.ingest.connectors.web.site_workers import WorkerWithoutProcess, shared_worker
from tests.support.jobs import failure, indexed_texts, sync

pytestmark = pytest.mark.usefixtures("reachable_sites")
METADATA = "http://169.254.169.254/latest/meta-data/"


@pytest.fixture
def source(make_source):
    return make_source()


@pytest.fixture
def connected_addresses(monkeypatch):
    """Return the list of addresses to which connections are opened, in this process."""
    monkeypatch.setattr(requests, "SandboxWorker", WorkerWithoutProcess)
    opened, create = [], socket.create_connection

    def note(address, *arguments, **options):
        opened.append(address)
        return create(address, *arguments, **options)

    monkeypatch.setattr(socket, "create_connection", note)
    return opened


def link_bad(site, **pages):
    """Make the site link to bad pages and to a good one."""
    site.pages["/"] = html("Home", *(f"/{name}.html" for name in pages), "/good.html")
    for name, page in pages.items():
        site.pages[f"/{name}.html"] = page if isinstance(page, Page) else Page(behaviour=page)
    site.pages["/good.html"] = html("Good")


def slow(exchange):
    exchange.begin(("Content-Length", "1000000"))
    exchange.drip(repeat(b"x"), every_s=0.05)


def silent(exchange):
    exchange.server.released.wait()


def break_off(exchange):
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


def deadly(exchange):
    os.kill(shared_worker().child_pid, signal.SIGSEGV)
    exchange.server.released.wait()


def encoded_page(encoding, body):
    return Page(body=body, headers=(("Content-Encoding", encoding),))


@pytest.mark.parametrize(
    "page",
    [
        slow,
        silent,
        break_off,
        no_http,
        flooding_head,
        deadly,
        encoded_page("gzip", gzip.compress(b"x" * 1000)[:-12]),
        encoded_page("gzip", b"plain"),
        encoded_page("br", b"plain"),
    ],
    ids=[
        "slow",
        "silent",
        "broken_off",
        "no_http",
        "flooding_head",
        "deadly",
        "broken_gzip",
        "no_gzip",
        "other_packing",
    ],
)
def test_page_that_never_ends_or_breaks_the_protocol_is_failed_alone(workspace, site, source, settings, page):
    settings.KEBAB_CRAWL_LIMIT_S = 0.5
    link_bad(site, bad=page)
    assert sync(source)["failed_by_reason"] == {"unreadable": 1}
    assert indexed_texts(workspace).keys() == {"index.html", "good.html"}


def endless(exchange):
    exchange.begin()
    exchange.drip((b"<p>more</p>" * 10_000 for _ in count()), every_s=0)


def large_by_its_word(exchange):
    exchange.begin(("Content-Length", str(10**12)))


def test_pages_that_are_too_large_are_skipped(workspace, site, source, monkeypatch):
    monkeypatch.setattr(content, "MAX_HTML_BYTES", 1_000_000)
    bomb = encoded_page("gzip", gzip.compress(bytes(20_000_000), compresslevel=1))
    link_bad(site, endless=endless, large_by_its_word=large_by_its_word, bomb=bomb)
    assert sync(source)["skipped_by_reason"] == {"too_large": 3}
    assert indexed_texts(workspace).keys() == {"index.html", "good.html"}


def test_crawl_over_its_byte_limit_fails_and_deletes_nothing(workspace, site, source, monkeypatch):
    link_bad(site)
    sync(source)
    monkeypatch.setattr(config, "_LEAST_MAX_BYTES", 0)
    monkeypatch.setattr(config, "_BYTES_PER_PAGE", 100)
    link_bad(site, **{f"large{nth}": html("Large" * 5_000) for nth in range(9)})
    site.asked.clear()
    assert "max_pages" in failure(source)
    assert [target for target in site.targets() if "large" in target] == ["/large0.html", "/large1.html"]
    assert indexed_texts(workspace).keys() == {"index.html", "good.html"}


def test_malformed_links_from_the_sandbox_are_refused(subtests):
    for key in ("@169.254.169.254/", "//host/" + "x" * 1_000, "/a b", "", None):
        with subtests.test(key=key), pytest.raises((TypeError, ValueError)):
            requests._read_page(iter([{"links": [key], "canonical": "", "is_noindex": True}]))


def test_pages_with_a_false_content_type_do_not_stop_the_sync(workspace, site, source):
    link_bad(
        site,
        png=Page(body=b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(200)), mime="text/html"),
        pdf=Page(body=b"%PDF-1.7 broken", mime="application/pdf"),
        program=Page(body=b"MZ\x90\x00" + bytes(300), mime="application/octet-stream"),
        archive=Page(body=b"PK\x03\x04" + bytes(100), mime="text/plain"),
        odd_type=Page(body=b"x", mime="no type at all"),
        no_type=Page(body=b"x", mime="\xff/\xfe"),
        empty=Page(body=b"", mime="text/html"),
    )
    assert sync(source)["seen"] == 9
    assert indexed_texts(workspace)["good.html"] == ["All about Good."]


def test_redirects_off_the_host_are_not_followed(workspace, site, source, connected_addresses):
    port = site.server_address[1]
    locations = [
        f"http://localhost:{port}/",
        METADATA,
        f"//[::1]:{port}/",
        "http://127.0.0.1:1/",
        f"https://127.0.0.1:{port}/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        f"http://user:secret@127.0.0.1:{port}/x",
        "http://[::1",
        "http://127.0.0.1:99999999/",
        "",
    ]
    link_bad(site, **{f"bad{nth}": redirect(location) for nth, location in enumerate(locations)})
    sync(source)
    assert {f"/bad{nth}.html" for nth in range(len(locations))} <= set(site.targets())
    assert indexed_texts(workspace).keys() == {"index.html", "good.html"}
    assert set(connected_addresses) == {("127.0.0.1", port)}


def test_start_page_that_redirects_off_its_host_or_without_end_fails(
    site, source, connected_addresses, subtests
):
    site.pages["/a"] = redirect("/")
    for number in range(30):
        site.pages[f"/x/{number}"] = redirect(f"/x/{number + 1}")
    for location in (METADATA, "/", "/a", "/x/0"):
        with subtests.test(location=location):
            site.pages["/"] = redirect(location)
            assert ("one host" if location == METADATA else "a circle") in failure(source)
    assert {host for host, _ in connected_addresses} == {"127.0.0.1"}


@pytest.fixture
def named_source(workspace, site):
    """Return a source that reaches the site by a host name which tests resolve."""
    url = f"http://docs.example.org:{site.server_address[1]}/"
    return ensure_source(workspace, "named", kind="web", config={"url": url})


def test_private_address_is_refused_by_number_and_by_name(site, source, named_source, settings, monkeypatch):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"example.org"})
    assert "KEBAB_PRIVATE_HOSTS" in failure(source)
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", site.server_address[1]))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: found)
    assert "is not public" in failure(named_source)
    assert site.asked == []


def test_rebound_name_is_checked_at_each_connection(
    site, named_source, settings, monkeypatch, connected_addresses
):
    settings.KEBAB_PRIVATE_HOSTS = frozenset()
    monkeypatch.setattr("kebab.http_client.connections._is_public", lambda address: address == "127.0.0.1")
    port = site.server_address[1]
    answers, look_up = iter(["127.0.0.1", "127.0.0.3"]), socket.getaddrinfo

    def rebinding(host, *arguments, **options):
        if host != "docs.example.org":
            return look_up(host, *arguments, **options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    site.pages["/robots.txt"] = Page(headers=(("Connection", "close"),))
    assert "is not public" in failure(named_source)
    # The first connection went to what had been checked, and the second look-up was checked anew.
    assert connected_addresses == [("127.0.0.1", port)]
    assert [asked.target for asked in site.asked] == ["/robots.txt"]


def test_start_page_that_never_answers_deletes_nothing(workspace, site, source, settings):
    link_bad(site)
    sync(source)
    settings.KEBAB_CRAWL_LIMIT_S = 0.5
    site.pages["/"] = Page(behaviour=silent)
    assert "in time" in failure(source)
    assert indexed_texts(workspace).keys() == {"index.html", "good.html"}


def test_bytes_beyond_content_length_are_ignored(workspace, site, source):
    def longer(exchange):
        body = b"<p>said</p>"
        exchange.begin(("Content-Length", str(len(body))))
        exchange.wfile.write(body + b"<p>smuggled</p>")

    link_bad(site, bad=longer)
    sync(source)
    assert indexed_texts(workspace)["bad.html"] == ["said"]


@pytest.fixture
def authority(tmp_path, monkeypatch):
    monkeypatch.setattr(requests, "SandboxWorker", SandboxWorker)  # a process with this environment
    made = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    return made


def test_site_is_read_over_tls_with_an_authority_of_the_operators(workspace, authority):
    with serving(context=authority.context("127.0.0.1")) as site:
        site.pages["/"] = html("Home", "/a.html")
        site.pages["/a.html"] = redirect(f"http://127.0.0.1:{site.server_address[1]}/x")
        source = ensure_source(workspace, "tls", kind="web", config={"url": site.url()})
        assert site.url().startswith("https://")
        assert sync(source)["new"] == 1
        assert sync(source)["unchanged"] == 1
        site.pages["/"] = site.pages["/a.html"]
        assert "one host" in failure(source)
        assert "/x" not in site.targets()


@pytest.mark.parametrize(("host", "is_known"), [("docs.example.org", True), ("127.0.0.1", False)])
def test_site_with_a_wrong_certificate_receives_no_request(workspace, tmp_path, authority, host, is_known):
    signing = authority if is_known else Authority(tmp_path, "stranger")
    with serving(context=signing.context(host)) as site:
        source = ensure_source(workspace, "tls", kind="web", config={"url": site.url()})
        assert "certificate" in failure(source)
        assert site.asked == []


def test_endless_site_is_read_up_to_max_pages(site, make_source):
    numbers = count()

    def grow(exchange):
        links = (f"{next(numbers)}/" for _ in range(50))
        exchange.answer(html(f"Page {next(numbers)}", *links, is_tagged=False))

    class Everywhere(dict):
        def get(self, key, default=None):
            return Page(status=404) if key == "/robots.txt" else Page(behaviour=grow)

    site.pages = Everywhere()
    assert sync(make_source(max_pages=5))["new"] == 5
    assert len(site.targets()) == 5
