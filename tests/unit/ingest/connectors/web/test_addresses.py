"""Normalised web addresses, document paths, and the scope of a source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.connectors.web.addresses import UrlScope, document_path, parse_address
from search.corpus.paths import normalise_path
from search.errors import InvalidPath

BASE = parse_address("https://example.org/docs/guide.html")


def key_of(text, **options):
    found = parse_address(text, base=BASE, **options)
    return None if found is None else found.key


def test_spellings_of_one_address_have_one_key(subtests):
    for text, key in [
        ("intro.html#part", "/docs/intro.html"),
        ("../a//b/./c/", "/a/b/c/"),
        ("/%7euser/%c3%a9", "/~user/%C3%A9"),
        ("/é x", "/%C3%A9%20x"),
        ("/100%", "/100%25"),
        ("/%2e%2e/%2E/a", "/a"),
        ("/a/..", "/"),
        ("/a?b=1&c=2", "/a"),
        ("?b=1", "/docs/guide.html"),
        ("", "/docs/guide.html"),
        (" \n/a\tb ", "/ab"),
        ("//example.org/x", "/x"),
        ("/../../x", "/x"),
    ]:
        with subtests.test(case=text):
            assert key_of(text) == key
    for query, kept in [
        ("b=2&a=1&a=0&x=3", "?a=0&a=1&b=2"),
        ("x=1", ""),
        ("a", "?a="),
        ("a=%C3%A9", "?a=%C3%A9"),
    ]:
        with subtests.test(case=query):
            assert key_of(f"/p?{query}", parameters=["a", "b"]) == f"/p{kept}"


def test_unusable_address_is_none(subtests):
    for text in [
        *(
            "ftp://example.org/",
            "javascript:alert(1)",
            "data:text/html,x",
            "http://",
            "http://user@example.org/",
        ),
        *("http://user:secret@example.org/", "http://[::1", "http://a b/", "http://example.org:port/"),
        *("http://example.org:99999/", "http://exa\ud800mple.org/", "/" + "x" * 1_001, "/" + "x" * 3_000),
        "/?" + "&".join(f"a={n}" for n in range(200)),
    ]:
        with subtests.test(case=ascii(text[:40])):
            assert key_of(text, parameters=["a"]) is None


def test_hosts_and_ports_have_one_form(subtests):
    for text, url in [
        ("HTTP://Example.ORG:80", "http://example.org/"),
        ("https://example.org:443/a", "https://example.org/a"),
        ("http://example.org:8080/a", "http://example.org:8080/a"),
        ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://example.org./", "http://example.org/"),
    ]:
        with subtests.test(case=text):
            assert parse_address(text).url == url


def test_http_and_https_are_one_site_where_no_port_is_named():
    hosts = ("http://a.example", "https://a.example", "http://a.example:8080", "http://www.a.example")
    plain, secure, ported, www = (parse_address(f"{host}/").site for host in hosts)
    assert plain == secure
    assert plain not in (ported, www)


def test_paths_are_readable_where_that_is_unambiguous(subtests):
    for key, path in [
        ("/", "index.html"),
        ("/docs/", "docs/index.html"),
        ("/docs/intro", "docs/intro"),
        ("/a%20b/%C3%A9.html", "a b/é.html"),
        ("/e%CC%81", "é"),
        *((f"/{kept}", kept) for kept in ["a%2Fb", "a%23b", "a%00b", "%5C", "%25", "%FF", "%20", "a?x=1%2F"]),
    ]:
        with subtests.test(case=key):
            assert document_path(key) == path


@given(st.text(max_size=60))
def test_every_usable_address_gives_a_citable_path(text):
    address = parse_address("/" + text, base=BASE)
    if address is None:
        return
    try:
        assert normalise_path(address.path) == address.path
    except InvalidPath as error:
        raise AssertionError(address.key) from error
    assert parse_address(address.url) == address


@given(st.text(alphabet="ab%/25Ffé ", max_size=12), st.text(alphabet="ab%/25Ffé ", max_size=12))
def test_different_urls_have_different_document_paths(one, other):
    keys = {parse_address("/x/" + text + "/y", base=BASE).key for text in (one, other)}
    assert len({document_path(key) for key in keys}) == len(keys)


def test_start_page_sets_the_scope_of_its_source(subtests):
    for start, prefix in [
        ("https://example.org", "/"),
        ("https://example.org/docs", "/docs/"),
        ("https://example.org/docs/", "/docs/"),
        ("https://example.org/docs/index.html", "/docs/"),
        ("https://example.org/en/v1.2", "/en/v1.2/"),
    ]:
        with subtests.test(case=start):
            scope = UrlScope.below(parse_address(start))
            assert scope.prefix == prefix
            assert scope.holds(parse_address(start))
            assert scope.holds(parse_address(f"http://example.org{prefix}x"))
            assert not scope.holds(parse_address(f"http://www.example.org{prefix}x"))
    scope = UrlScope.below(parse_address("https://example.org/docs"))
    assert not scope.holds(parse_address("https://example.org/docs-old/"))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("/a;jsessionid=1F?id=5", "/a?id=5"),
        ("/a;JSESSIONID=1F;v=2/b", "/a;v=2/b"),
        ("/a%3Bjsessionid%3D1F", "/a"),
        ("/a;0123456789abcdef", "/a"),
        ("/(S(lit3py55t21z5v55vlm25s55))/a", "/a"),
        ("/a/(X(1)S(abc))/", "/a/"),
        *(
            (kept, kept)
            for kept in ("/a;v=2", "/a;lang=en/b", "/(draft(2))/a", "/a;section=introduction-of-it")
        ),
    ],
)
def test_keys_lack_the_sessions_in_paths(text, key):
    address = parse_address(text, base=BASE, parameters=None)
    assert address.key == key
    assert address.request_url == (f"https://example.org{text}" if key != text else address.url)


def test_parameters_keep_their_spelling_where_all_are_kept(subtests):
    for query, kept in [
        ("b=2&a", "?a&b=2"),
        ("q=%E4+x&&", "?q=%E4+x"),
        ("q=é", "?q=%C3%A9"),
        ("a=b=c/d", "?a=b%3Dc%2Fd"),
    ]:
        with subtests.test(case=query):
            assert key_of(f"/p?{query}", parameters=None) == f"/p{kept}"
    address = parse_address("/p?a=1&b=2&a=3", base=BASE, parameters=None)
    assert (address.without("a").key, address.without("a", "b").key) == ("/p?b=2", "/p")
