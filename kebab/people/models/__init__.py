"""Models of users, workspaces, members, groups, invitations, tokens, OAuth clients and audit events."""

from kebab.people.models.audit import AuditEvent
from kebab.people.models.group import Group, GroupMember, TokenGroup
from kebab.people.models.invitation import Invitation
from kebab.people.models.oauth import OAuthClient, OAuthGrant
from kebab.people.models.token import ApiToken, PersonalToken, TokenScope
from kebab.people.models.user import User
from kebab.people.models.workspace import Membership, Role, Workspace

__all__ = [
    "ApiToken",
    "AuditEvent",
    "Group",
    "GroupMember",
    "Invitation",
    "Membership",
    "OAuthClient",
    "OAuthGrant",
    "PersonalToken",
    "Role",
    "TokenGroup",
    "TokenScope",
    "User",
    "Workspace",
]
