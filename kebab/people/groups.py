"""Groups of a workspace, to which reading of single sources can be restricted.

Extensions name functions that count what is restricted to groups, because this package knows no sources.
"""

import unicodedata
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any

from django.db import IntegrityError, models, transaction
from django.db.models import Count, IntegerField, OuterRef, Subquery
from django.db.models.functions import Coalesce

from kebab.contributions import contributions
from kebab.database.querysets import first_or_not_found
from kebab.errors import Conflict, FieldError, InvalidRequest, NotFound, Unprocessable
from kebab.identity.caller import Access
from kebab.identity.models import Group, GroupMember, Membership, TokenGroup, Workspace
from kebab.people import audit

MAX_NAME_CHARS = 100
#: The most groups that one token, invitation or source may name.
MAX_GROUPS = 100

#: Returns the number of sources restricted to each of some groups; groups without any may be left out.
CountSources = Callable[[Workspace, Collection[uuid.UUID]], Mapping[uuid.UUID, int]]


def clean_name(name: str) -> str:
    """Return `name` in NFC with single spaces. Raises InvalidRequest for an empty, too long or
    unprintable one.
    """
    clean = " ".join(unicodedata.normalize("NFC", name).split())
    if not clean or len(clean) > MAX_NAME_CHARS or not clean.isprintable():
        message = f"A group's name has 1 to {MAX_NAME_CHARS} characters that can be printed."
        raise InvalidRequest(message, errors=[FieldError(field="name", message=message)])
    return clean


def create_group(access: Access, name: str) -> Group:
    """Create a group without members. Raises InvalidRequest, Conflict for a taken name."""
    group = Group(workspace=access.workspace, name=clean_name(name))
    with transaction.atomic():
        _save(group, force_insert=True)
        audit.record(access, "group.created", group.name, id=str(group.pk))
    return group


def rename_group(access: Access, group_id: uuid.UUID, name: str) -> Group:
    """Rename a group and return it. Raises NotFound, InvalidRequest, Conflict for a taken name."""
    clean = clean_name(name)
    with transaction.atomic():
        group = _lock_group(access, group_id)
        before, group.name = group.name, clean
        if before != clean:
            _save(group, update_fields=["name"])
            audit.record(access, "group.renamed", clean, id=str(group.pk), before=before)
    return group


def delete_group(access: Access, group_id: uuid.UUID) -> dict[str, Any]:
    """Delete a group and return its last sizes. Raises NotFound.

    Sources restricted to it stay restricted: without another group only owners and admins read them.
    """
    with transaction.atomic():
        group = _lock_group(access, group_id)
        size = group_sizes(access.workspace, [group])[0]
        Group.objects.filter(pk=group.pk).delete()
        counts = {name: count for name, count in size.items() if name != "group"}
        audit.record(access, "group.deleted", group.name, id=str(group.pk), **counts)
    return size


def add_to_group(access: Access, group_id: uuid.UUID, user_id: int) -> None:
    """Add a member to a group; one who is in it stays. Raises NotFound for either."""
    with transaction.atomic():
        group, membership = _lock_group(access, group_id), _lock_member(access, user_id)
        _, is_new = GroupMember.objects.get_or_create(
            workspace=access.workspace, group=group, membership=membership
        )
        if is_new:
            audit.record(access, "group.member_added", membership.user.email, **_group_facts(group))


def remove_from_group(access: Access, group_id: uuid.UUID, user_id: int) -> None:
    """Remove a member from a group. Raises NotFound for a missing group, or if they aren't in it."""
    with transaction.atomic():
        group, membership = _lock_group(access, group_id), _lock_member(access, user_id)
        members = GroupMember.objects.filter(workspace=access.workspace, group=group)
        deleted, _ = members.filter(membership=membership).delete()
        if not deleted:
            raise NotFound(f"{membership.user.email} is not in {group.name}.")
        audit.record(access, "group.member_removed", membership.user.email, **_group_facts(group))


def set_groups(
    access: Access, user_id: int, wanted: Collection[uuid.UUID], *, among: Collection[uuid.UUID]
) -> None:
    """Put a member into the groups `wanted` and take them out of the others `among`, which were offered.

    Raises NotFound for the member, and for a group that doesn't exist.
    """
    with transaction.atomic():
        mine = GroupMember.objects.filter(
            workspace=access.workspace, membership=_lock_member(access, user_id)
        )
        present = set(mine.values_list("group_id", flat=True))
        for group_id in sorted(set(wanted) - present):
            add_to_group(access, group_id, user_id)
        for group_id in sorted(present & set(among) - set(wanted)):
            remove_from_group(access, group_id, user_id)


def get_group(workspace: Workspace, group_id: uuid.UUID) -> Group:
    """Return the group. Raises NotFound if it is missing or another workspace's."""
    return first_or_not_found(workspace.groups.filter(pk=group_id))


def lock_groups(
    workspace_id: uuid.UUID, group_ids: Collection[uuid.UUID], *, field: str = "groups"
) -> list[Group]:
    """Return the groups, locked so that none is deleted before a row refers to it; within a transaction.

    Raises Unprocessable, which names those that are missing or another workspace's in `field` of the request.
    """
    wanted = set(group_ids)
    # A fixed order avoids deadlocks between two callers that name the same groups.
    rows = Group.objects.filter(workspace=workspace_id, pk__in=wanted).order_by("pk")
    found = list(rows.select_for_update(no_key=True))
    missing = sorted(map(str, wanted - {group.pk for group in found}))
    if missing:
        named = ", ".join(missing)
        raise Unprocessable(
            f"No group of this workspace has the id {named}; GET …/groups lists those there are.",
            code="unknown_group",
            errors=[FieldError(field=field, message=f"No group has the id {each}.") for each in missing],
        )
    return found


def group_sizes(workspace: Workspace, groups: Collection[Group]) -> list[dict[str, Any]]:
    """Return the groups in their order with their numbers of members, tokens and restricted sources.

    One query, and one for each counter. A source counts that is restricted to other groups, too.
    """
    ids = [group.pk for group in groups]
    restricted = [count(workspace, ids) for count in contributions("source_counters")]
    counted = {
        row.pk: row
        for row in Group.objects.filter(workspace=workspace, pk__in=ids).annotate(
            members_counted=_count_rows(GroupMember), tokens_counted=_count_rows(TokenGroup)
        )
    }
    return [
        {
            "group": group,
            "member_count": getattr(counted.get(group.pk), "members_counted", 0),
            "token_count": getattr(counted.get(group.pk), "tokens_counted", 0),
            "source_count": sum(each.get(group.pk, 0) for each in restricted),
        }
        for group in groups
    ]


def _count_rows(rows: type[models.Model]) -> Coalesce:
    mine = rows._default_manager.filter(workspace=OuterRef("workspace"), group=OuterRef("pk"))
    per_group = mine.order_by().values("group")
    counted = per_group.annotate(count=Count("*")).values("count")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def _lock_group(access: Access, group_id: uuid.UUID) -> Group:
    return first_or_not_found(access.workspace.groups.select_for_update().filter(pk=group_id))


def _lock_member(access: Access, user_id: int) -> Membership:
    """Return the member, locked so that they can't leave before the transaction ends."""
    members = Membership.objects.filter(workspace=access.workspace, user_id=user_id)
    return first_or_not_found(members.select_related("user").select_for_update(of=("self",), no_key=True))


def _group_facts(group: Group) -> dict[str, str]:
    return {"group": group.name, "group_id": str(group.pk)}


def _save(group: Group, **options: Any) -> None:
    try:
        with transaction.atomic():
            group.save(**options)
    except IntegrityError as error:
        raise Conflict(
            f"There is a group {group.name!r} already; choose another name.", code="group_name_taken"
        ) from error
