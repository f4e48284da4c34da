"""Sign-in and sign-out, the same for every method: rate limit, new session, audit event."""

from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest

from kebab.accounts import audit
from kebab.http.rate_limits.rules import SignInAttempt
from kebab.identity.models import User

_BACKEND = "django.contrib.auth.backends.ModelBackend"


def authenticate_by_password(request: HttpRequest, email: str, password: str) -> User | None:
    """Return the user with this address and password, else None; both take the same time.

    Raises RateLimited after too many failures from the request's address.
    """
    attempt = SignInAttempt(request=request, email=email)
    attempt.count()
    user = authenticate(request, username=email, password=password)
    if user is None:
        audit.record_failed_sign_in(email, by="password", why="credentials")
        return None
    attempt.clear_failures()
    return user


def sign_in(request: HttpRequest, user: User, *, by: str) -> None:
    """Start a new session for `user`, `by` "password", "oidc" or "invitation"; an old session's data goes."""
    login(request, user, backend=_BACKEND)
    audit.record(user, "sign_in.succeeded", by=by)


def sign_out(request: HttpRequest) -> None:
    """End the current session, also an anonymous one."""
    user = request.user
    logout(request)
    if isinstance(user, User):
        audit.record(user, "sign_out")
