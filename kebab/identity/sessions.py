"""Database sessions that accept well-formed keys only."""

import re

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends import db
from django.utils.crypto import constant_time_compare

from kebab.identity.models import User

_KEY = re.compile("[a-z0-9]{8,40}")


class SessionStore(db.SessionStore):
    """Ignores malformed session cookies: they may hold a NUL, which Postgres refuses."""

    def _validate_session_key(self, key: str | None) -> bool:
        return key is not None and _KEY.fullmatch(key) is not None


def is_session_valid(session_key: str | None, user: User) -> bool:
    """Return whether a session is `user`'s and started with the current password; True without a session.

    One query; none without a session.
    """
    if session_key is None:
        return True
    session = SessionStore(session_key)
    session_hash = session.get(HASH_SESSION_KEY, "")
    # An earlier secret key counts too: the session is signed again by the next page only.
    good = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    return session.get(SESSION_KEY) == str(user.pk) and any(
        constant_time_compare(session_hash, each) for each in good
    )
