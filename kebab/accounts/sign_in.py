"""Signing people in: one place for every way in, so that each is limited, rotates the session, is written."""

from typing import Any

from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest

from kebab.accounts import audit
from kebab.http.rate_limits.rules import SignInAttempt
from kebab.people.models import User

_BACKEND = "django.contrib.auth.backends.ModelBackend"


def user_by_password(request: HttpRequest, email: str, password: str) -> User | None:
    """Return whom the two belong to; None for anybody else, after the same work as for an account.

    Raises RateLimited after too many failures from the request's address.
    """
    attempt = SignInAttempt(request=request, email=email)
    attempt.count()
    user: Any = authenticate(request, username=email, password=password)
    if user is None:
        audit.record_failed_sign_in(email, by="password", why="credentials")
        return None
    attempt.succeeded()
    return user  # type: ignore[no-any-return]


def sign_in(request: HttpRequest, user: User, *, by: str) -> None:
    """Return the request a new session, which is `user`'s; what the old one held for somebody else goes."""
    login(request, user, backend=_BACKEND)
    audit.record_sign_in(user, by=by)


def sign_out(request: HttpRequest) -> None:
    """End the session, whoever's it is."""
    user = request.user
    logout(request)
    if isinstance(user, User):
        audit.record_sign_out(user)
