"""A workspace with an open source and a restricted one, and callers inside and outside of its group."""

import pytest

from ingest.models import Job, JobItem
from kebab.identity.models import Group, GroupMember, Membership, TokenGroup
from kebab.identity.tokens import mint_token
from search.models import Source, SourceReader
from tests.security.hidden_sources.requests import CANARY, RestrictedSource, finished_fields
from tests.support.actors import Role, bearer_client, make_member, person_client
from tests.support.api import quarantine
from tests.support.corpus import write


@pytest.fixture(autouse=True)
def _stores(blobs, mirrors):
    """Use blobs and mirrors of the test's own."""


@pytest.fixture
def group(workspace):
    return Group.objects.create(workspace=workspace, name="ledger")


@pytest.fixture
def restricted_source(workspace, group):
    """Create the restricted source, every word of which begins with the canary."""
    doc_id = write(
        workspace, f"{CANARY}.md", f"{CANARY} text", source=f"{CANARY}-key", title=f"{CANARY} title"
    ).doc_id
    source = Source.objects.in_workspace(workspace).get()
    Source.objects.filter(pk=source.pk).update(title=f"{CANARY} source", is_restricted=True)
    SourceReader.objects.create(workspace=workspace, source=source, group=group)
    write(workspace, "open.md", "open text", source="open")
    job = Job.objects.create(
        workspace=workspace,
        kind="ingest_document",
        source=source,
        payload={"path": f"{CANARY}.md", "version": "", "blob": ""},
        current_path=f"{CANARY}.md",
        requested_by="someone@example.org",
        **finished_fields("failed", error=f"{CANARY} error"),
    )
    JobItem.objects.create(
        workspace=workspace, job=job, path=f"{CANARY}.md", action="ingest", state="failed", outcome="failed"
    )
    entry = quarantine(workspace, source.versions.get(), f"{CANARY}-bomb.md")
    source.refresh_from_db()
    return RestrictedSource(source=source, doc_id=doc_id.hex, job=job, entry=entry)


@pytest.fixture
def person(workspace, group):
    """Return a function that creates a member: `person(Role.EDITOR, inside=True)` returns their client."""

    def person(role, *, inside=False):
        user = make_member(workspace, role)
        if inside:
            membership = Membership.objects.get(workspace=workspace, user=user)
            GroupMember.objects.create(workspace=workspace, group=group, membership=membership)
        return person_client(user)

    return person


@pytest.fixture
def tool(workspace, group):
    """Return a function that creates a token with all scopes and returns its client."""

    def tool(*, inside=False):
        token, secret = mint_token(workspace, scopes=["search", "ingest", "manage", "ask"])
        if inside:
            TokenGroup.objects.create(workspace=workspace, group=group, token=token)
        return bearer_client(secret)

    return tool


@pytest.fixture(params=["editor", "viewer", "token"])
def outsider(request, person, tool):
    """Return a client that may not know of the restricted source."""
    return tool() if request.param == "token" else person(Role(request.param))


@pytest.fixture(params=["editor", "token"])
def outside_editor(request, person, tool):
    """Return a client that may write, but not know of the restricted source."""
    return tool() if request.param == "token" else person(Role.EDITOR)


@pytest.fixture(params=["editor in the group", "token in the group", "admin", "owner"])
def insider(request, person, tool):
    """Return a client that may read the restricted source, and write to it."""
    if request.param == "token in the group":
        return tool(inside=True)
    if request.param == "editor in the group":
        return person(Role.EDITOR, inside=True)
    return person(Role(request.param))
