"""Removal of a source's secrets from the words of its server or program, which all members may read."""

import re
from collections.abc import Iterable
from typing import Final

#: Shorter ones are words that occur by chance.
LEAST_SECRET_CHARS: Final = 6
_USER_IN_ADDRESS: Final = re.compile(r"://[^/@\s]*@")


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return the text with `***` in place of the secrets, and of the users in addresses."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***") if len(secret) >= LEAST_SECRET_CHARS else text
    return _USER_IN_ADDRESS.sub("://***@", text)
