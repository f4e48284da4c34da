"""A workspace with sources of every restriction, and callers of every kind."""

import re
import uuid
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

from django.db import transaction

from kebab.identity.caller import Caller
from kebab.identity.models import Group, GroupMember, Membership, Role, TokenScope
from kebab.identity.tokens import mint_token, readable_tokens
from kebab.people.access_report import explain_access, operations
from search.models import Document, Source, SourceReader
from tests.support.actors import bearer_client, make_member, person_client
from tests.support.corpus import write

#: Stands in every document.
WORD = "lantern"
#: The key of each source and the groups that it is restricted to; None: it is open.
SOURCES: dict[str, tuple[str, ...] | None] = {
    "open": None,
    "sealed": (),
    "staff": ("staff",),
    "legal": ("legal",),
    "shared": ("legal", "staff"),
}
_KINDS_OF_TOKEN = [*combinations(TokenScope, 0), *combinations(TokenScope, 1), tuple(TokenScope)]
_GROUPS: list[tuple[str, ...]] = [(), ("staff",)]


def fill(workspace: Any) -> None:
    """Write the sources, each with a document, and their groups."""
    groups = {name: Group.objects.create(workspace=workspace, name=name) for name in ("legal", "staff")}
    for key, readers in SOURCES.items():
        write(workspace, f"{key}.md", f"# {key}\n\nA {WORD} in {key}.\n", source=key)
        source = Source.objects.in_workspace(workspace).get(key=key)
        Source.objects.filter(pk=source.pk).update(is_restricted=readers is not None)
        for name in readers or ():
            SourceReader.objects.create(workspace=workspace, source=source, group=groups[name])


def callers(workspace: Any, *, roles=Role, scopes=_KINDS_OF_TOKEN) -> Iterator[tuple[Caller, Any]]:
    """Yield callers of every role and kind of token, in a group and in none, with a client each."""
    groups = {group.name: group for group in Group.objects.filter(workspace=workspace)}
    for role, names in product(roles, _GROUPS):
        user = make_member(workspace, role)
        membership = Membership.objects.get(workspace=workspace, user=user)
        for name in names:
            GroupMember.objects.create(workspace=workspace, group=groups[name], membership=membership)
        yield Caller(user=user), person_client(user)
    for each, names in product(scopes, _GROUPS):
        token, secret = mint_token(workspace, scopes=each, groups=[groups[name] for name in names])
        yield Caller(token=readable_tokens().get(pk=token.pk)), bearer_client(secret)


def compare_permissions(workspace: Any, compared: list[Any]) -> int:
    """Assert that reports allow the operations that the API allows, for every kind of caller; count those."""
    seen = set()
    for name in ("legal", "staff"):
        Group.objects.create(workspace=workspace, name=name)
    for caller, client in callers(workspace):
        report = explain_access(workspace, caller)
        kind = (report.role, report.scopes if report.role is None else ())
        if kind in seen:
            continue
        seen.add(kind)
        reported = {each: may.is_allowed for may in report.permissions for each in may.operations}
        assert len(reported) == len(operations())
        for operation in compared:
            is_allowed = operation_status(client, workspace, caller, operation) != 403
            assert reported[str(operation)] is is_allowed, (caller.actor, report.role, str(operation))
    return len(seen)


def compare_things(workspace: Any, compared: Iterator[tuple[Caller, Any]]) -> int:
    """Assert that reports show the sources and documents that the API shows to callers; count the callers."""
    documents, n_callers = {each.source.key: each for each in workspace_documents(workspace)}, 0
    for caller, client in compared:
        things = {thing.name: thing for thing in explain_access(workspace, caller).things}
        assert set(things) == set(SOURCES)
        visible = {name for name, thing in things.items() if thing.is_visible}
        searchable = {name for name, thing in things.items() if thing.is_searchable}
        context = (caller.actor, [(thing.name, thing.why) for thing in things.values()])

        def visible_keys(tails, client=client):
            return {key for key, tail in tails.items() if is_there(client, workspace, tail)}

        assert visible == visible_keys({key: f"sources/{thing.id}" for key, thing in things.items()}), context
        assert searchable == visible_keys(
            {key: f"documents/{each.doc_id.hex}" for key, each in documents.items()}
        )
        assert searchable == searchable_sources(client, workspace), context
        for key, document in documents.items():
            (thing,) = explain_access(workspace, caller, document=document.doc_id).things
            assert (thing.kind, thing.name) == ("document", document.path)
            assert thing.is_visible is thing.is_searchable is things[key].is_searchable
            assert thing.why.endswith(things[key].why)
        n_callers += 1
    return n_callers


def operation_status(client, workspace, caller, operation):
    """Return the status of an operation on a missing thing, and roll it back."""
    own = {"user_id": str(caller.user.pk)} if caller.user is not None else {}
    route = re.sub(r"\{(\w+)\}", lambda found: own.get(found[1]) or missing(found[1]), operation.route)
    with transaction.atomic():
        response = getattr(client, operation.method.lower())(
            f"/api/v1/workspaces/{workspace.slug}{route}", {}, format="json"
        )
        transaction.set_rollback(True)
    assert response.status_code < 500
    return response.status_code


def missing(parameter):
    if parameter in ("user_id", "space_id", "entry_id"):
        return "999999999"
    return uuid.uuid4().hex if parameter in ("doc_id", "chunk_id", "rule_id") else str(uuid.uuid4())


def workspace_documents(workspace):
    return Document.objects.in_workspace(workspace).select_related("source")


def is_there(client, workspace, tail):
    return client.get(f"/api/v1/workspaces/{workspace.slug}/{tail}").status_code == 200


def searchable_sources(client, workspace):
    response = client.get(f"/api/v1/workspaces/{workspace.slug}/search?q={WORD}&mode=lexical&k=50")
    return {hit["source"] for hit in response.json()["hits"]} if response.status_code == 200 else set()
