"""Documents as resources, by the URIs that citations have."""

from dataclasses import replace

import pytest
from mcp import MCPError

from tests.api.mcp.shelf import INSTALL


async def every_resource(client):
    found, cursor = [], None
    while True:
        page = await client.list_resources(cursor=cursor)
        found += page.resources
        cursor = page.next_cursor
        if cursor is None:
            return found


def test_all_documents_are_listed_page_by_page(over_http, shelf, monkeypatch):
    monkeypatch.setattr("search.mcp.documents.MOST_LISTED", 3)
    found = {each.uri: each for each in over_http.use(every_resource)}

    assert len(found) >= 12
    install = found["kebab://handbook/guides/install.md"]
    assert (install.name, install.title) == ("guides/install.md", "Install")
    assert (install.mime_type, install.size) == ("text/markdown", len(INSTALL))
    assert "kebab://react@v17/hooks.md" in found


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("kebab://handbook/guides/install.md", INSTALL.rstrip("\n")),
        ("kebab://handbook/guides/install.md#L5-L8", "\n".join(INSTALL.split("\n")[4:8])),
        ("guides/install.md#L1", "# Install"),
        ("guides/install.md", INSTALL.rstrip("\n")),
        ("kebab://react@v17/hooks.md#L3", "Hooks of the old days."),
        ("hooks.md#L3", "How to use hooks with state."),
        ("page.html#L1-L2", "Boats lie at their moorings."),
    ],
)
def test_a_resource_is_read_whole_or_as_far_as_it_is_cited(line, uri, text):
    (contents,) = line.use(lambda client: client.read_resource(uri)).contents

    assert (contents.uri, contents.text) == (uri, text)
    assert contents.meta["kebab/content"].startswith("untrusted")


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("kebab://handbook/no/such.md", "not_found"),
        ("kebab://nowhere/guides/install.md", "not_found"),
        ("kebab://handbook@v9/guides/install.md", "not_found"),
        ("kebab:///guides/install.md", "is no id and no citation"),
        ("guides/install.md#L07", "invalid_citation"),
        ("https://example.org/", "not_found"),
    ],
)
def test_what_is_no_resource_is_refused_with_the_reason(over_http, uri, told):
    with pytest.raises(MCPError, match=told):
        over_http.use(lambda client: client.read_resource(uri))


def test_every_citation_of_a_search_can_be_read(over_http):
    async def follow(client):
        found = await client.call_tool("search", {"query": "tides", "detail": "titles", "k": 5})
        uris = [text for text in found.content[0].text.split("\n") if ".md#L" in text]
        return uris, [await client.read_resource(uri) for uri in uris]

    uris, read = over_http.use(follow)

    assert len(uris) == 5
    assert all(result.contents[0].text for result in read)


def test_the_forms_of_addresses_are_listed(over_http):
    templates = over_http.use(lambda client: client.list_resource_templates()).resource_templates

    assert [template.uri_template for template in templates] == [
        "kebab://{source}/{+path}",
        "{+path}{#place}",
    ]


def test_a_cursor_of_somebody_else_is_refused(url, over_http, shelf, monkeypatch):
    monkeypatch.setattr("search.mcp.documents.MOST_LISTED", 3)
    cursor = over_http.use(lambda client: client.list_resources()).next_cursor
    _, secret = shelf.token("search")
    other = replace(over_http, secret=secret)

    with pytest.raises(MCPError, match="invalid_cursor"):
        other.use(lambda client: client.list_resources(cursor=cursor))
