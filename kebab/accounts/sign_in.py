"""Sign-in and sign-out, the same for every method: rate limit, new session, audit event."""

from typing import Any

from django.contrib.auth import SESSION_KEY, authenticate, login, logout
from django.contrib.sessions.models import Session
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

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


@receiver(post_save, sender=User)
def end_sessions_of_inactive(sender: type[User], instance: User, **_: Any) -> None:
    """End all sessions of a deactivated user, so that none works again after reactivation."""
    if not instance.is_active:
        end_sessions(instance)


def end_sessions(user: User, *, except_key: str | None = None) -> int:
    """End all sessions of `user` but that with `except_key`; return how many.

    It reads every unexpired session: sessions aren't indexed by user.
    """
    rows = Session.objects.filter(expire_date__gt=timezone.now()).exclude(pk=except_key)
    open_ones = rows.iterator(chunk_size=1_000)
    theirs = [row.pk for row in open_ones if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=theirs).delete()
    return len(theirs)
