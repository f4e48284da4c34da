"""What a repository is read with. It is stored sealed and shown to nobody, not in answers, logs or errors."""

import base64
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

from ingest.connectors.git.address import GitAddress, Transport
from ingest.errors import CredentialsRefused
from kebab.encryption import SealingFailed, reseal, seal, unseal
from search.models import Source

logger = logging.getLogger(__name__)

MAX_USERNAME_CHARS: Final = 200
MAX_SECRET_CHARS: Final = 4_000
MAX_KEY_CHARS: Final = 20_000
#: Hosts look at the token alone; some refuse an empty name beside it.
_LOGIN_BESIDE_ONE: Final = "x-access-token"
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


def read_credentials(given: Mapping[str, str], address: GitAddress) -> Credentials:
    """Return the credentials for `address`. Raises CredentialsRefused; its message repeats none of them."""
    if "private_key" in given:
        if address.transport is not Transport.SSH:
            raise CredentialsRefused("A private key is for ssh addresses; give a token or a password.")
        return Credentials(private_key=_checked_key(given["private_key"]))
    if address.transport not in {Transport.HTTP, Transport.HTTPS}:
        raise CredentialsRefused("A token or a password is for https addresses; ssh takes a private key.")
    username = given.get("username", _LOGIN_BESIDE_ONE if "token" in given else "")
    if not username or ":" in username:
        raise CredentialsRefused("A password needs a username beside it, without ':'.")
    return Credentials(username=username, password=given.get("token") or given["password"])


def seal_credentials(credentials: Credentials) -> str:
    """Return them encrypted. Raises CredentialsRefused when the operator has set no key."""
    try:
        return seal(json.dumps(asdict(credentials)))
    except SealingFailed as error:
        raise CredentialsRefused(str(error)) from error


def unseal_credentials(sealed: str) -> Credentials | None:
    """Return what was sealed, None for "". Raises SealingFailed."""
    return Credentials(**json.loads(unseal(sealed))) if sealed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resealed:
    """What sealing again came to, in sources."""

    #: Sealed anew, under the first key.
    changed: int = 0
    #: Under the first key before.
    unchanged: int = 0
    #: What no key opens, by the source's id.
    unopened: tuple[str, ...] = ()


def seal_again() -> Resealed:
    """Seal every source's credentials under the first key; what no key opens stays and is logged."""
    changed, unchanged, unopened = 0, 0, []
    # In one statement, whatever the number of workspaces: this is a part of every start.
    given = Source.objects.exclude(sealed_credentials="")
    for workspace_id, pk, sealed in given.values_list("workspace_id", "pk", "sealed_credentials"):
        try:
            fresh = reseal(sealed)
        except SealingFailed as error:
            logger.warning("credentials of source %s: %s", pk, error)
            unopened.append(str(pk))
            continue
        if fresh == sealed:
            unchanged += 1
        else:  # unless somebody has given others meanwhile
            sources = Source.objects.in_workspace(workspace_id)
            changed += sources.filter(pk=pk, sealed_credentials=sealed).update(sealed_credentials=fresh)
    return Resealed(changed=changed, unchanged=unchanged, unopened=tuple(unopened))


def _checked_key(text: str) -> str:
    key = text.replace("\r\n", "\n").strip() + "\n"
    load = load_ssh_private_key if key.startswith(_OPENSSH) else load_pem_private_key
    try:
        load(key.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CredentialsRefused(
            "The private key can't be read; give one in OpenSSH or PEM form, without a passphrase."
        ) from error
    return key
