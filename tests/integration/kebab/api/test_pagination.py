from django.utils import timezone

from kebab.identity.models import AuditEvent, Role
from tests.support.actors import member_client, token_client


def write_notes(workspace, count):
    for number in range(count):
        AuditEvent.objects.create(workspace=workspace, actor="a", action="note", subject=str(number))


def path(workspace, query="", view="notes"):
    return f"/api/v1/workspaces/{workspace.slug}/{view}?{query}"


def walk(client, workspace, limit):
    query = f"limit={limit}"
    while True:
        page = client.get(path(workspace, query)).json()
        yield [row["text"] for row in page["results"]]
        if page["next_cursor"] is None:
            return
        query = f"limit={limit}&cursor={page['next_cursor']}"


def test_header_names_the_next_page(workspace):
    write_notes(workspace, 3)
    client = token_client(workspace, "search")
    first = client.get(path(workspace, "limit=2"))
    link, _, relation = first.headers["Link"].partition("; ")
    assert relation == 'rel="next"'
    last = client.get(link.strip("<>").removeprefix("http://testserver"))
    assert [row["text"] for row in last.json()["results"]] == ["0"]
    assert "Link" not in last.headers


def test_pages_hold_every_row_once_in_order(workspace, other_workspace, monkeypatch):
    write_notes(workspace, 7)
    client = token_client(workspace, "search")
    for limit in (1, 3, 7, 8, 200):
        pages = list(walk(client, workspace, limit))
        assert [text for page in pages for text in page] == [str(number) for number in reversed(range(7))]
        assert all(len(page) == limit for page in pages[:-1])

    pages = walk(client, workspace, 5)
    first = next(pages)
    write_notes(workspace, 3)  # new rows neither repeat nor skip others
    assert [*first, *(text for page in pages for text in page)] == [str(n) for n in reversed(range(7))]

    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    write_notes(other_workspace, 6)
    monkeypatch.undo()
    pages = list(walk(token_client(other_workspace, "search"), other_workspace, 2))
    assert sorted(text for page in pages for text in page) == list("012345")


def test_limit_is_from_1_to_200_and_50_by_default(workspace):
    client = token_client(workspace, "search")
    for limit in ("0", "201", "-1", "x", ""):
        response = client.get(path(workspace, f"limit={limit}"))
        assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "limit")
    write_notes(workspace, 51)
    assert len(client.get(path(workspace)).json()["results"]) == 50


def test_cursor_is_valid_only_for_its_endpoint_and_caller(workspace, other_workspace):
    write_notes(workspace, 3)
    client = token_client(workspace, "search")
    cursor = client.get(path(workspace, "limit=1")).json()["next_cursor"]
    assert client.get(path(workspace, f"cursor={cursor}")).status_code == 200
    refused = [
        token_client(workspace, "search").get(path(workspace, f"cursor={cursor}")),
        member_client(workspace, Role.OWNER).get(path(workspace, f"cursor={cursor}")),
        token_client(other_workspace, "search").get(path(other_workspace, f"cursor={cursor}")),
        client.get(path(workspace, f"cursor={cursor}", view="other-notes")),
    ]
    for spoilt in (cursor[:-1], "A" + cursor, "x", cursor.replace(":", "")):
        refused.append(client.get(path(workspace, f"cursor={spoilt}")))
    for response in refused:
        assert (response.status_code, response.json()["code"]) == (400, "invalid_cursor")
