"""An empty workspace explains itself, and leads to the first document."""


def text_of(response):
    assert response.status_code == 200, response.content
    return " ".join(response.content.decode().split())


def test_an_empty_workspace_leads_from_search_and_sources_to_the_first_document(visit, editor):
    client = visit(editor)

    for page in ("/w/handbook/search", "/w/handbook/sources"):
        shown = text_of(client.get(page))
        assert 'href="/w/handbook/upload"' in shown
        assert 'href="/w/handbook/sources/new"' in shown


def test_viewers_of_an_empty_workspace_are_told_who_fills_it(visit, viewer):
    client = visit(viewer)

    for page in ("/w/handbook/search", "/w/handbook/sources"):
        shown = text_of(client.get(page))
        assert "Editors of this workspace" in shown
        assert "/upload" not in shown
