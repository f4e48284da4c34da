"""A person's tools over MCP: they search all workspaces, and name one for the rest."""

import pytest

from kebab.identity.models import Membership, Role
from kebab.identity.tokens import mint_personal_token
from search.settings.rules import validate_rules
from tests.api.mcp.clients import Line, text_of
from tests.api.mcp.shelf import commit
from tests.support.actors import make_person


@pytest.fixture
def line(url, shelf, other):
    """Return a connection with the token of a person who is a member of both workspaces."""

    def join():
        person = make_person("both@example.org")
        for workspace in (shelf.workspace, other):
            Membership.objects.create(workspace=workspace, user=person, role=Role.VIEWER)
        return person, mint_personal_token(person, scopes=["search"])[1]

    person, secret = commit(join)
    yield Line(url=url, secret=secret)
    commit(person.delete)


def test_search_without_a_workspace_searches_all_workspaces(line, shelf, other):
    found = line.data("search", query="comet package manager")["results"]
    assert {each["metadata"]["workspace"] for each in found} == {shelf.workspace.slug, other.slug}
    alone = line.text("search", query="comet package manager", workspace=other.slug)
    assert "comets.md" in alone
    assert "install.md" not in alone
    for detail in ("titles", "passages"):
        assert "comets.md" in line.text("search", query="comet", detail=detail)


def test_promoted_answers_of_a_workspace_are_notes(line, other):
    answer = {"kind": "answer", "queries": ["comet"], "title": "Comets", "text": "See the quay.", "url": ""}

    def promote():
        other.settings["rules"] = validate_rules([answer])
        other.save(update_fields=["settings"])

    commit(promote)
    note = "Promoted answer: Comets See the quay."
    assert line.data("search", query="comet")["notes"] == [f"{other.slug}: {note}"]
    assert line.data("search", query="comet", workspace=other.slug)["notes"] == [note]


def test_fetch_finds_the_document_in_whichever_workspace_has_it(line, other):
    fetched = line.data("fetch", id="comets.md")
    assert "quay" in fetched["text"]
    assert f"/w/{other.slug}/documents/" in fetched["url"]
    assert "apt install kebab" in line.text("fetch", id="guides/install.md")


def test_other_tools_need_the_name_of_a_workspace(line, shelf, other):
    asked = {"libraryName": "react", "query": "hooks"}

    async def ask(client):
        return [
            await client.call_tool("resolve-library-id", {**asked, **named})
            for named in ({}, {"workspace": "missing"}, {"workspace": shelf.workspace.slug})
        ]

    without, wrong, right = line.use(ask)
    for refused in (without, wrong):
        assert refused.is_error
        assert text_of(refused).startswith("invalid_request: workspace:")
        assert other.slug in text_of(refused)
    assert "Library ID: /facebook/react" in text_of(right)


def test_tool_outside_the_scopes_of_the_token_is_forbidden(line, shelf):
    async def ask(client):
        return await client.call_tool("ask", {"question": "Who?", "workspace": shelf.workspace.slug})

    refused = line.use(ask)
    assert refused.is_error
    assert text_of(refused).startswith("forbidden:")
