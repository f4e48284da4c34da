"""An empty workspace guides its user to the first document."""


def test_empty_workspace_leads_editors_to_the_first_document(visit, editor, viewer):
    for page in ("/w/handbook/search", "/w/handbook/sources"):
        shown = visit(editor).get(page).content.decode()
        assert 'href="/w/handbook/upload"' in shown
        assert 'href="/w/handbook/sources/new"' in shown
        assert "/upload" not in visit(viewer).get(page).content.decode()
