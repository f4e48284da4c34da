"""Encryption of stored secrets."""

import pytest
from cryptography.fernet import Fernet

from kebab.encryption import EncryptionError, decrypt, encrypt, reencrypt


def key():
    return Fernet.generate_key().decode()


def test_encrypted_text_is_decrypted_and_reveals_nothing(settings):
    settings.KEBAB_ENCRYPTION_KEYS = [key()]
    sealed = encrypt("größe")

    assert decrypt(sealed) == "größe"
    assert "größe" not in sealed
    assert encrypt("größe") != sealed


def test_keys_are_rotated_the_new_one_first(settings):
    old, new = key(), key()
    settings.KEBAB_ENCRYPTION_KEYS = [old]
    sealed = encrypt("a")
    settings.KEBAB_ENCRYPTION_KEYS = [new, old]
    again = reencrypt(sealed)
    assert reencrypt(again) == again
    settings.KEBAB_ENCRYPTION_KEYS = [new]

    assert decrypt(again) == "a"
    with pytest.raises(EncryptionError, match="KEBAB_ENCRYPTION_KEYS"):
        decrypt(sealed)


@pytest.mark.parametrize("keys", [[], ["short"], ["x" * 44]])
def test_encryption_requires_a_valid_key(settings, keys):
    settings.KEBAB_ENCRYPTION_KEYS = keys
    with pytest.raises(EncryptionError, match="KEBAB_ENCRYPTION_KEYS"):
        encrypt("a")
