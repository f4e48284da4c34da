"""Requirements of views: the role or token scope that a caller needs."""

from dataclasses import dataclass
from typing import Literal

from kebab.errors import Forbidden
from kebab.identity.caller import Access
from kebab.identity.models import Role, TokenScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """The least a caller must have: a person the role (or a higher one), a token the scope."""

    role: Role
    #: "any": any scope at all will do. None: for people only.
    scope: TokenScope | Literal["any"] | None
    #: Whether what it is needed for is narrowed by the filters of a token that has some.
    filters: bool = False
    #: Whether it shows what a token of the workspace may not read: it takes a person, or their token.
    is_personal: bool = False

    def check(self, access: Access) -> str:
        """Return a sentence with the reason why access is granted. Raises Forbidden, naming what is missing.

        Callers know already that the workspace exists.
        """
        if access.role is None:
            return self._check_token(access)
        reason = f"The role is {access.role.value}; this needs {self.role.value}."
        if access.role.level < self.role.level:
            raise Forbidden(reason)
        return reason if access.caller.personal_token is None else self._check_scope(access)

    def allows(self, access: Access) -> bool:
        """Return whether access is granted."""
        try:
            self.check(access)
        except Forbidden:
            return False
        return True

    def _check_token(self, access: Access) -> str:
        if access.token is not None and access.token.filters and not self.filters:
            raise Forbidden("This token has filters, so it may only search.")
        if self.is_personal:
            raise Forbidden("Only a person may do this, or a tool with a personal token.")
        return self._check_scope(access)

    def _check_scope(self, access: Access) -> str:
        if self.scope is None:
            raise Forbidden("Only a person who has signed in may do this, not a token.")
        if self.scope == "any":
            if not access.scopes:
                raise Forbidden("This token lacks any scope, so it may do nothing.")
            return "The token has a scope."
        if self.scope not in access.scopes:
            raise Forbidden(f"This token lacks the scope {self.scope.value}.")
        return f"The token has the scope {self.scope.value}."


#: For owners and admins who have signed in, and no token.
ADMINS = Need(role=Role.ADMIN, scope=None)
#: For owners and admins, and tokens that manage.
MANAGERS = Need(role=Role.ADMIN, scope=TokenScope.MANAGE)
