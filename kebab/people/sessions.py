"""Sessions in the database, under keys that have the form of a key."""

import re

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends import db
from django.utils.crypto import constant_time_compare

from kebab.people.models import User

_KEY = re.compile("[a-z0-9]{8,40}")


class SessionStore(db.SessionStore):
    """Takes a cookie without the form of a key for none: it may hold a NUL, which Postgres refuses."""

    def _validate_session_key(self, key: str | None) -> bool:
        return key is not None and _KEY.fullmatch(key) is not None


def is_open(session_key: str | None, user: User) -> bool:
    """Return whether a session is still `user`'s, begun with the password of now; True for no session at all.

    One query; none without a session.
    """
    if session_key is None:
        return True
    session = SessionStore(session_key)
    begun_with = session.get(HASH_SESSION_KEY, "")
    # Under an earlier secret key, too: only the next page signs the session anew.
    good = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    return session.get(SESSION_KEY) == str(user.pk) and any(
        constant_time_compare(begun_with, each) for each in good
    )
