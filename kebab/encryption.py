"""Encryption of secrets stored in the database, so that a copy of the database alone reveals none.

Fernet (AES-128-CBC with HMAC-SHA256) under the first of KEBAB_ENCRYPTION_KEYS; the others only decrypt, so
that a key can be rotated: put the new one first, start Kebab, which encrypts all secrets again, and remove
the old one.
"""

import logging
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db.models import QuerySet

logger = logging.getLogger(__name__)


class EncryptionError(Exception):
    """No key is set, a key is invalid, or no key decrypts the secret; the message states the remedy."""


def encrypt(secret: str) -> str:
    """Encrypt `secret` under the first key. Raises EncryptionError."""
    return _fernet().encrypt(secret.encode()).decode()


def decrypt(sealed: str) -> str:
    """Decrypt a secret that was encrypted under any of the keys. Raises EncryptionError."""
    try:
        return _fernet().decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise EncryptionError(
            "What was stored encrypted can't be opened with KEBAB_ENCRYPTION_KEYS: add the key that it was"
            " sealed under, or give the credentials again."
        ) from error


def reencrypt(sealed: str) -> str:
    """Return `sealed` encrypted under the first key, unchanged if it already is. Raises EncryptionError."""
    try:
        MultiFernet(_keys()[:1]).decrypt(sealed.encode())
    except InvalidToken:
        return encrypt(decrypt(sealed))
    return sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationResult:
    """The result of a key rotation, in numbers of rows."""

    #: Encrypted again, under the first key.
    changed: int = 0
    #: Already under the first key.
    unchanged: int = 0
    #: Ids of rows whose secrets no key decrypts.
    unopened: tuple[str, ...] = ()


def rotate_column(rows: QuerySet[Any], column: str) -> RotationResult:
    """Encrypt the secrets in `column` of all `rows` with the first key; log and leave those that no key
    decrypts.
    """
    changed, unchanged, unopened = 0, 0, []
    # In one statement for all workspaces, since this is part of every start.
    stored = rows.exclude(**{column: ""})
    for workspace_id, pk, sealed in stored.values_list("workspace_id", "pk", column):
        try:
            fresh = reencrypt(sealed)
        except EncryptionError as error:
            logger.warning("%s of %s %s: %s", column, rows.model._meta.verbose_name, pk, error)
            unopened.append(str(pk))
            continue
        if fresh == sealed:
            unchanged += 1
        else:  # unless they were replaced meanwhile
            unreplaced = rows.filter(workspace_id=workspace_id, pk=pk, **{column: sealed})
            changed += unreplaced.update(**{column: fresh})
    return RotationResult(changed=changed, unchanged=unchanged, unopened=tuple(unopened))


def _fernet() -> MultiFernet:
    return MultiFernet(_keys())


def _keys() -> list[Fernet]:
    if not settings.KEBAB_ENCRYPTION_KEYS:
        raise EncryptionError("Credentials can't be stored: the operator has set no KEBAB_ENCRYPTION_KEYS.")
    try:
        return [Fernet(key) for key in settings.KEBAB_ENCRYPTION_KEYS]
    except ValueError as error:
        raise EncryptionError(
            "One of KEBAB_ENCRYPTION_KEYS is not a key: each is 32 random bytes as URL-safe base64."
        ) from error
