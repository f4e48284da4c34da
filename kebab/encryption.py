"""Encryption of secrets stored in the database, so that a copy of the database alone reveals none.

Fernet (AES-128-CBC with HMAC-SHA256) under the first of KEBAB_ENCRYPTION_KEYS; the others only decrypt, so
that a key can be rotated: put the new one first, start Kebab, which encrypts all secrets again, and remove
the old one.
"""

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


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


def _fernet() -> MultiFernet:
    return MultiFernet(_keys())


def _keys() -> list[Fernet]:
    if not settings.KEBAB_ENCRYPTION_KEYS:
        raise EncryptionError("Credentials can't be stored: the operator has set no KEBAB_ENCRYPTION_KEYS.")
    try:
        return [Fernet(key) for key in settings.KEBAB_ENCRYPTION_KEYS]
    except ValueError as error:
        raise EncryptionError(
            "One of KEBAB_ENCRYPTION_KEYS is no key: each is 32 random bytes as URL-safe base64."
        ) from error
