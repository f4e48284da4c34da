"""Secrets that are stored encrypted."""

import pytest
from cryptography.fernet import Fernet

from kebab.encryption import SealingFailed, reseal, seal, unseal


def key():
    return Fernet.generate_key().decode()


def test_what_is_sealed_is_opened_and_tells_nothing(settings):
    settings.KEBAB_ENCRYPTION_KEYS = [key()]
    sealed = seal("größe")

    assert unseal(sealed) == "größe"
    assert "größe" not in sealed
    assert seal("größe") != sealed


def test_keys_are_rotated_the_new_one_first(settings):
    old, new = key(), key()
    settings.KEBAB_ENCRYPTION_KEYS = [old]
    sealed = seal("a")
    settings.KEBAB_ENCRYPTION_KEYS = [new, old]
    again = reseal(sealed)
    assert reseal(again) == again
    settings.KEBAB_ENCRYPTION_KEYS = [new]

    assert unseal(again) == "a"
    with pytest.raises(SealingFailed, match="KEBAB_ENCRYPTION_KEYS"):
        unseal(sealed)


@pytest.mark.parametrize("keys", [[], ["short"], ["x" * 44]])
def test_without_a_sound_key_nothing_is_sealed(settings, keys):
    settings.KEBAB_ENCRYPTION_KEYS = keys
    with pytest.raises(SealingFailed, match="KEBAB_ENCRYPTION_KEYS"):
        seal("a")
