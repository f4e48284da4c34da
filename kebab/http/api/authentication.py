"""Authentication by a bearer token, or by the session of a person who has signed in."""

from dataclasses import dataclass

from django.conf import settings
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from kebab.errors import Forbidden
from kebab.http.rate_limits.rules import count_bad_token
from kebab.identity.models import ApiToken, PersonalToken, User
from kebab.identity.operator_token import Operator, read_operator_token
from kebab.identity.tokens import verify_token


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUser:
    """The stand-in for a user when the caller is a tool with a token; it has no rights of its own."""

    token: ApiToken
    is_authenticated: bool = True
    is_active: bool = True
    is_anonymous: bool = False
    is_staff: bool = False
    pk: None = None

    def __str__(self) -> str:
        return str(self.token)


class TokenAuthentication(BaseAuthentication):
    """Authentication by `Authorization: Bearer kbb_…`; `request.auth` is the token, with its workspace.

    A token of the command line on this server's machine begins with `kbo_`; `request.auth` is an `Operator`.
    """

    def authenticate(
        self, request: Request
    ) -> tuple[TokenUser | User | Operator, ApiToken | PersonalToken | Operator] | None:
        """Return the stand-in user, or the person, and the token; None without a bearer header.

        Raises AuthenticationFailed, and RateLimited after too many bad tokens from one address.
        """
        scheme, _, presented = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        text = presented.strip()
        operator = read_operator_token(settings.SECRET_KEY, text)
        if operator is not None:
            return operator, operator
        token = verify_token(text, resource=self.resource_of(request))
        if token is None:
            count_bad_token(request)
            raise AuthenticationFailed("This token is unknown, expired or revoked.", code="invalid_token")
        if isinstance(token, PersonalToken):
            return token.user, token
        return TokenUser(token=token), token

    def resource_of(self, request: Request) -> str:
        """Return the address that a token may be bound to; '': those that are, are refused."""
        return ""

    def authenticate_header(self, request: Request) -> str:
        """Return the `WWW-Authenticate` header of a 401."""
        return 'Bearer realm="kebab"'


class PersonAuthentication(SessionAuthentication):
    """Authentication by the session of a signed-in person; every unsafe method needs the CSRF token."""

    def enforce_csrf(self, request: Request) -> None:
        """Check the CSRF token. Raises Forbidden with the code `csrf_failed`."""
        try:
            super().enforce_csrf(request)
        except PermissionDenied as error:
            raise Forbidden(f"{error.detail} Send the X-CSRFToken header.", code="csrf_failed") from error
