"""Sessions in the database, under keys that have the form of a key."""

import re

from django.contrib.sessions.backends import db

_KEY = re.compile("[a-z0-9]{8,40}")


class SessionStore(db.SessionStore):
    """Takes a cookie without the form of a key for none: it may hold a NUL, which Postgres refuses."""

    def _validate_session_key(self, key: str | None) -> bool:
        return key is not None and _KEY.fullmatch(key) is not None
