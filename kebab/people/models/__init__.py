"""Who there is and what belongs to whom: users, workspaces, memberships, tokens, audit."""

from kebab.people.models.audit import AuditEvent
from kebab.people.models.token import ApiToken, Scope
from kebab.people.models.user import User
from kebab.people.models.workspace import Membership, Role, Workspace

__all__ = ["ApiToken", "AuditEvent", "Membership", "Role", "Scope", "User", "Workspace"]
