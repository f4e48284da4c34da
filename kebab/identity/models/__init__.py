"""Models of users, workspaces, members, groups, invitations, tokens, OAuth clients and audit events."""

from kebab.identity.models.audit import AuditEvent
from kebab.identity.models.group import Group, GroupMember, TokenGroup
from kebab.identity.models.invitation import Invitation
from kebab.identity.models.oauth import OAuthClient, OAuthGrant
from kebab.identity.models.token import ApiToken, PersonalToken, TokenScope
from kebab.identity.models.user import User
from kebab.identity.models.workspace import Membership, Role, Workspace

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
