"""Tokens of the command line on the machine of a server: whoever can read the server's secret is an operator.

A token names the user of the machine and the time; it is signed with the secret, and valid for minutes. This
module is also part of the command line, which doesn't import Django.
"""

import base64
import getpass
import hmac
import re
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

#: Begins the name of an operator in `invited_by` and in audit events.
OPERATOR_PREFIX: Final = "operator:"

_FORM = re.compile(r"\Akbo_([0-9]{1,12})_([A-Za-z0-9_-]{0,400})_([0-9a-f]{64})\Z")
# Clocks of one machine agree, but a large upload is signed before it is sent.
_VALID_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A user of the machine of a server, in place of a person or a token."""

    #: The actor in the audit log.
    actor: str
    is_authenticated: bool = True
    is_active: bool = True
    is_anonymous: bool = False
    is_staff: bool = False
    pk: None = None

    def __str__(self) -> str:
        return self.actor


def user_name() -> str:
    """Return the name of this machine's user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user need not have a name
        return "unnamed"


def issue_operator_token(secret: str, name: str) -> str:
    """Return a token for the user `name` of this machine."""
    at, encoded = int(time.time()), base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")
    return f"kbo_{at}_{encoded}_{_sign(secret, at, encoded)}"


def read_operator_token(secret: str, token: str) -> Operator | None:
    """Return the user that a valid token names; None for any other text."""
    form = _FORM.match(token)
    if form is None:
        return None
    at, encoded = int(form[1]), form[2]
    is_genuine = hmac.compare_digest(form[3], _sign(secret, at, encoded))
    if not is_genuine or abs(time.time() - at) > _VALID_S:
        return None
    name = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    return Operator(actor=f"{OPERATOR_PREFIX}{name}")


def _sign(secret: str, at: int, encoded: str) -> str:
    key = sha256(b"kebab.operator_token" + secret.encode()).digest()
    return hmac.new(key, f"{at}_{encoded}".encode(), sha256).hexdigest()
