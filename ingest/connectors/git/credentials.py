"""Credentials of repositories: stored encrypted, and never shown in responses, logs or errors."""

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

from ingest.connectors.git.address import GitAddress, Transport
from ingest.errors import CredentialsRefused
from kebab.encryption import EncryptionError, RotationResult, decrypt, encrypt, rotate_column
from search.models import Source

#: Username for a token: hosts check the token alone, but some refuse an empty name.
_DEFAULT_USERNAME: Final = "x-access-token"
_OPENSSH: Final = "-----BEGIN OPENSSH PRIVATE KEY-----"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A name with a password or token, or a private key in OpenSSH or PEM form."""

    username: str = ""
    password: str = field(default="", repr=False)
    private_key: str = field(default="", repr=False)

    @property
    def authorization(self) -> str:
        """Return the value of an HTTP Authorization header (RFC 7617)."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


def parse_credentials(stored: Mapping[str, str], address: GitAddress) -> Credentials:
    """Parse the credentials for `address`. Raises CredentialsRefused; its message contains none of them."""
    if "private_key" in stored:
        if address.transport is not Transport.SSH:
            raise CredentialsRefused("A private key is for ssh addresses; give a token or a password.")
        return Credentials(private_key=_check_key(stored["private_key"]))
    if address.transport not in {Transport.HTTP, Transport.HTTPS}:
        raise CredentialsRefused("A token or a password is for https addresses; ssh takes a private key.")
    username = stored.get("username", _DEFAULT_USERNAME if "token" in stored else "")
    if not username or ":" in username:
        raise CredentialsRefused("A password needs a username beside it, without ':'.")
    return Credentials(username=username, password=stored.get("token") or stored["password"])


def encrypt_credentials(credentials: Credentials) -> str:
    """Encrypt credentials. Raises CredentialsRefused when the operator has set no key."""
    try:
        return encrypt(json.dumps(asdict(credentials)))
    except EncryptionError as error:
        raise CredentialsRefused(str(error)) from error


def decrypt_credentials(sealed: str) -> Credentials | None:
    """Decrypt stored credentials; None for "". Raises EncryptionError."""
    return Credentials(**json.loads(decrypt(sealed))) if sealed else None


def rotate_credentials() -> RotationResult:
    """Encrypt all sources' credentials with the first key; log and leave those that no key decrypts."""
    return rotate_column(Source.objects.all(), "sealed_credentials")


def _check_key(text: str) -> str:
    key = text.replace("\r\n", "\n").strip() + "\n"
    load = load_ssh_private_key if key.startswith(_OPENSSH) else load_pem_private_key
    try:
        load(key.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CredentialsRefused(
            "The private key can't be read; give one in OpenSSH or PEM form, without a passphrase."
        ) from error
    return key
