"""Members and tokens of a workspace as JSON, with which it moves to another installation."""

import json
import uuid
from pathlib import Path
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import F, Func, TextField, Value

from kebab.errors import Conflict, InvalidRequest
from kebab.identity.models import ApiToken, GroupMember, Membership, TokenGroup, User, Workspace
from kebab.identity.tokens import with_token_groups
from kebab.people.members import members_of

_TOKEN = ("name", "prefix", "scopes", "filters", "expires_at")


def dump_access(workspace: Workspace) -> str:
    """Return its id, groups, active members and unrevoked tokens, of which it has the digests alone."""
    digest = Func(F("secret_sha256"), Value("hex"), function="encode", output_field=TextField())
    tokens = with_token_groups(workspace.tokens.filter(revoked_at=None)).annotate(digest=digest)
    members: Any = members_of(workspace).filter(user__is_active=True)
    facts = {
        "id": workspace.pk,
        "groups": list(workspace.groups.values("id", "name")),
        "members": list(members.values("user__email", "user__display_name", "role", "group_ids")),
        "tokens": list(tokens.values(*_TOKEN, "digest", "group_ids")),
    }
    return json.dumps(facts, cls=DjangoJSONEncoder, indent=1)


def read_access(file: Path) -> dict[str, Any]:
    """Return what `dump_access` has written to a file. Raises InvalidRequest."""
    try:
        access = json.loads(file.read_text())
        rows = {name: access[name] for name in ("groups", "members", "tokens")}
        return {"id": str(uuid.UUID(access["id"])), **rows}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InvalidRequest(f"{file} is not what kebab export --access writes: {error}.") from error


def restore_access(workspace: Workspace, access: dict[str, Any]) -> None:
    """Create the members and tokens in an imported workspace; accounts that are missing have no password.

    Raises Conflict for an account that can be used and hasn't proved its address: it may be somebody else's;
    InvalidRequest for rows that `dump_access` doesn't write.
    """
    try:
        _create_rows(workspace, access)
    except (ValueError, LookupError, TypeError, ObjectDoesNotExist, ValidationError) as error:
        raise InvalidRequest(f"The file of --access is not what kebab export writes: {error!r}.") from error


def _create_rows(workspace: Workspace, access: dict[str, Any]) -> None:
    groups = {each["id"]: workspace.groups.get(name=each["name"]) for each in access["groups"]}
    for row in access["members"]:
        email, name = row["user__email"], row["user__display_name"]
        user = User.objects.with_address(email).first() or User.objects.create_user(email, display_name=name)
        if not user.has_proved_email and (user.proved_email or user.has_usable_password()):
            raise Conflict(
                f"The account here has to prove its address first: {email}.", code="address_unproved"
            )
        membership = Membership.objects.create(workspace=workspace, user=user, role=row["role"])
        for key in row["group_ids"]:
            GroupMember.objects.create(workspace=workspace, membership=membership, group=groups[key])
    for row in access["tokens"]:
        fields = {name: row[name] for name in _TOKEN}
        digest = bytes.fromhex(row["digest"])
        token = ApiToken.objects.create(workspace=workspace, secret_sha256=digest, **fields)
        for key in row["group_ids"]:
            TokenGroup.objects.create(workspace=workspace, token=token, group=groups[key])
