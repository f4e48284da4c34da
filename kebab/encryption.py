"""Secrets of people that the database keeps, encrypted: it alone, or a copy of it, gives none away.

Fernet (AES-128-CBC with HMAC-SHA256) under the first of KEBAB_ENCRYPTION_KEYS; the others only open what was
sealed before, so that a key can be replaced: put the new one first, start Kebab, which seals all again, and
take the old one away.
"""

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class SealingFailed(Exception):
    """There is no key, a key is none, or none of them opens what was sealed; the message says what to do."""


def seal(secret: str) -> str:
    """Return `secret` encrypted under the first key. Raises SealingFailed."""
    return _fernet().encrypt(secret.encode()).decode()


def unseal(sealed: str) -> str:
    """Return what was sealed under any of the keys. Raises SealingFailed."""
    try:
        return _fernet().decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise SealingFailed(
            "What was stored encrypted can't be opened with KEBAB_ENCRYPTION_KEYS: add the key that it was"
            " sealed under, or give the credentials again."
        ) from error


def reseal(sealed: str) -> str:
    """Return `sealed` as it is when the first key opens it, else sealed under that. Raises SealingFailed."""
    try:
        MultiFernet(_keys()[:1]).decrypt(sealed.encode())
    except InvalidToken:
        return seal(unseal(sealed))
    return sealed


def _fernet() -> MultiFernet:
    return MultiFernet(_keys())


def _keys() -> list[Fernet]:
    if not settings.KEBAB_ENCRYPTION_KEYS:
        raise SealingFailed("Credentials can't be stored: the operator has set no KEBAB_ENCRYPTION_KEYS.")
    try:
        return [Fernet(key) for key in settings.KEBAB_ENCRYPTION_KEYS]
    except ValueError as error:
        raise SealingFailed(
            "One of KEBAB_ENCRYPTION_KEYS is no key: each is 32 random bytes as URL-safe base64."
        ) from error
