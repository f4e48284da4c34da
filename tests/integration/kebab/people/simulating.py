"""A workspace with sources of every openness, and callers of every kind in it."""

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

from kebab.people.access import Caller
from kebab.people.models import Group, GroupMember, Membership, Role, Scope
from kebab.people.tokens import mint_token, readable_tokens
from search.models import Source, SourceReader
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
_KINDS_OF_TOKEN = [*combinations(Scope, 0), *combinations(Scope, 1), tuple(Scope)]
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


def callers(workspace: Any) -> Iterator[tuple[Caller, Any]]:
    """Give callers of every role and kind of token, in a group and in none, with a client each."""
    groups = {group.name: group for group in Group.objects.filter(workspace=workspace)}
    for role, names in product(Role, _GROUPS):
        user = make_member(workspace, role)
        membership = Membership.objects.get(workspace=workspace, user=user)
        for name in names:
            GroupMember.objects.create(workspace=workspace, group=groups[name], membership=membership)
        yield Caller(user=user), person_client(user)
    for scopes, names in product(_KINDS_OF_TOKEN, _GROUPS):
        token, secret = mint_token(workspace, scopes=scopes, groups=[groups[name] for name in names])
        yield Caller(token=readable_tokens().get(pk=token.pk)), bearer_client(secret)
