"""Documents as resources, by the URIs that citations have."""

from dataclasses import replace

import pytest
from mcp import MCPError

from tests.api.mcp.shelf import INSTALL

READ = [
    ("kebab://handbook/guides/install.md", INSTALL.rstrip("\n")),
    ("kebab://handbook/guides/install.md#L5-L8", "\n".join(INSTALL.split("\n")[4:8])),
    ("guides/install.md#L1", "# Install"),
    ("guides/install.md", INSTALL.rstrip("\n")),
    ("kebab://react@v17/hooks.md#L3", "Hooks of the old days."),
    ("hooks.md#L3", "How to use hooks with state."),
    ("C%23 50%25 why%3F.md#L3", "Type parameters."),
    ("C%23 50%25 why%3F.md", "# Generics\n\nType parameters."),
    ("kebab://handbook/C%23%2050%25%20why%3F.md#L1", "# Generics"),
    ("page.html#L1-L2", "Boats lie at their moorings."),
]
REFUSED = [
    ("kebab://handbook/no/such.md", "not_found"),
    ("kebab://nowhere/guides/install.md", "not_found"),
    ("kebab://handbook@v9/guides/install.md", "not_found"),
    ("kebab:///guides/install.md", "kebab:///guides/install.md"),
    ("guides/install.md#L07", "invalid_citation"),
    ("https://example.org/", "not_found"),
]


async def every_resource(client):
    found, cursor = [], None
    while True:
        page = await client.list_resources(cursor=cursor)
        found += page.resources
        cursor = page.next_cursor
        if cursor is None:
            return found


def test_documents_are_listed_by_page_and_cursors_bound_to_their_caller(over_http, shelf, monkeypatch):
    monkeypatch.setattr("search.mcp.tools.documents.MOST_LISTED", 5)
    found = {each.uri: each for each in over_http.use(every_resource)}

    assert len(found) >= 12
    install = found["kebab://handbook/guides/install.md"]
    assert (install.name, install.title) == ("guides/install.md", "Install")
    assert (install.mime_type, install.size) == ("text/markdown", len(INSTALL))
    assert "kebab://react@v17/hooks.md" in found

    cursor = over_http.use(lambda client: client.list_resources()).next_cursor
    _, secret = shelf.token("search")
    with pytest.raises(MCPError, match="invalid_cursor"):
        replace(over_http, secret=secret).use(lambda client: client.list_resources(cursor=cursor))


def test_resource_uri_with_a_fragment_returns_the_cited_lines(line, subtests):
    async def read(client):
        return [await client.read_resource(uri) for uri, _ in READ]

    for (uri, text), result in zip(READ, line.use(read), strict=True):
        with subtests.test(uri):
            (contents,) = result.contents
            assert (contents.uri, contents.text) == (uri, text)
            assert contents.meta["kebab/content"].startswith("untrusted")


def test_wrong_uri_is_refused(over_http, subtests):
    for uri, message in REFUSED:
        with subtests.test(uri), pytest.raises(MCPError, match=message):
            over_http.use(lambda client, uri=uri: client.read_resource(uri))


def test_citations_of_hits_are_readable_resources_with_listed_templates(over_http):
    async def follow(client):
        found = await client.call_tool("search", {"query": "tides", "detail": "titles", "k": 5})
        uris = [each["metadata"]["citation"] for each in found.structured_content["results"]]
        templates = (await client.list_resource_templates()).resource_templates
        return [await client.read_resource(uri) for uri in uris], templates

    read, templates = over_http.use(follow)
    assert len(read) == 5
    assert all(result.contents[0].text for result in read)
    forms = [template.uri_template for template in templates]
    assert forms == ["kebab://{source}/{+path}", "{+path}{#place}"]
