"""Lists are paged by signed cursors."""

import pytest
from django.utils import timezone

from kebab.people.models import AuditEvent, Role
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


@pytest.mark.parametrize("limit", [1, 3, 7, 8, 200])
def test_pages_give_every_row_once_in_order(workspace, limit):
    write_notes(workspace, 7)
    pages = list(walk(token_client(workspace, "search"), workspace, limit))

    assert [text for page in pages for text in page] == [str(number) for number in reversed(range(7))]
    assert all(len(page) == limit for page in pages[:-1])


def test_rows_of_one_moment_are_told_apart(workspace, monkeypatch):
    now = timezone.now()
    with monkeypatch.context() as one_moment:
        one_moment.setattr(timezone, "now", lambda: now)
        write_notes(workspace, 6)
    pages = list(walk(token_client(workspace, "search"), workspace, 2))

    assert sorted(text for page in pages for text in page) == list("012345")


def test_rows_that_come_meanwhile_neither_repeat_nor_skip_others(workspace):
    write_notes(workspace, 4)
    pages = walk(token_client(workspace, "search"), workspace, 2)
    first = next(pages)
    write_notes(workspace, 3)

    assert [*first, *(text for page in pages for text in page)] == ["3", "2", "1", "0"]


@pytest.mark.parametrize("limit", ["0", "201", "-1", "x", ""])
def test_a_limit_out_of_range_is_refused(workspace, limit):
    response = token_client(workspace, "search").get(path(workspace, f"limit={limit}"))

    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "limit")


def test_fifty_is_the_usual_page(workspace):
    write_notes(workspace, 51)

    assert len(token_client(workspace, "search").get(path(workspace)).json()["results"]) == 50


def cursor_of(client, workspace):
    return client.get(path(workspace, "limit=1")).json()["next_cursor"]


def test_a_cursor_is_good_only_where_and_for_whom_it_was_given(workspace, other_workspace):
    write_notes(workspace, 3)
    client = token_client(workspace, "search")
    cursor = cursor_of(client, workspace)
    stranger = token_client(workspace, "search")
    elsewhere = token_client(other_workspace, "search")
    member = member_client(workspace, Role.OWNER)

    assert client.get(path(workspace, f"cursor={cursor}")).status_code == 200
    for response in (
        stranger.get(path(workspace, f"cursor={cursor}")),
        member.get(path(workspace, f"cursor={cursor}")),
        elsewhere.get(path(other_workspace, f"cursor={cursor}")),
        client.get(path(workspace, f"cursor={cursor}", view="other-notes")),
    ):
        assert (response.status_code, response.json()["code"]) == (400, "invalid_cursor")


@pytest.mark.parametrize(
    "spoil", [lambda c: c[:-1], lambda c: "A" + c, lambda c: "x", lambda c: c.replace(":", "")]
)
def test_a_cursor_that_was_tampered_with_is_refused(workspace, spoil):
    write_notes(workspace, 3)
    client = token_client(workspace, "search")
    response = client.get(path(workspace, f"cursor={spoil(cursor_of(client, workspace))}"))

    assert (response.status_code, response.json()["code"]) == (400, "invalid_cursor")
