"""The secrets of the embedded stack, generated once and stored in the data directory."""

import base64
import json
import secrets
import uuid
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from kebab.runtime.durable_files import hold_exclusively, replace_text
from kebab.stack.errors import PathRefused
from kebab.stack.paths import DataDirectory


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSecrets:
    """The secrets of the embedded stack; never part of a log or a representation."""

    secret_key: str = field(repr=False)
    redis_password: str = field(repr=False)
    #: 32 random bytes as URL-safe base64; encrypts the credentials of sources.
    encryption_key: str = field(repr=False)
    #: Identifies this data directory's files that have to lie outside it.
    stack_id: str


_NAMES = {each.name for each in fields(StackSecrets)}
#: The fields of the first version; a file without them is damaged.
_FIRST_NAMES = {"secret_key", "redis_password", "stack_id"}


def load_or_create(data_dir: Path) -> StackSecrets:
    """Return the secrets of a data directory; concurrent processes get the same ones.

    Raises:
        PathRefused: the file cannot be read, or is damaged.
    """
    directory = DataDirectory(data_dir)
    found = _load(directory.secrets)
    if found.keys() >= _NAMES:
        return _select_known(found)
    directory.ensure()
    with hold_exclusively(directory.run / "secrets.lock"):
        found = _load(directory.secrets)
        if not found.keys() >= _NAMES:
            # Fields of an earlier version stay; missing ones are added.
            found = {**asdict(_generate()), **found}
            replace_text(directory.secrets, json.dumps(found, indent=1) + "\n")
    return _select_known(found)


def _select_known(found: dict[str, str]) -> StackSecrets:
    return StackSecrets(**{name: value for name, value in found.items() if name in _NAMES})


def _generate() -> StackSecrets:
    return StackSecrets(
        secret_key=secrets.token_urlsafe(50),
        redis_password=secrets.token_hex(32),
        encryption_key=base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        stack_id=uuid.uuid4().hex,
    )


def _load(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        # Fields of a later version are kept, as this version may run after a downgrade.
        if not isinstance(found, dict) or not found.keys() >= _FIRST_NAMES:
            raise ValueError("it is not what was written")
        return found
    except FileNotFoundError:
        return {}
    except PermissionError as error:
        raise PathRefused(
            f"{path} cannot be read by this user; run as the user who made it, or set KEBAB_DATA_DIR."
        ) from error
    except (ValueError, TypeError) as error:
        raise PathRefused(
            f"{path} is damaged; restore it, or remove it to get new secrets (sessions end, tokens stay, the"
            " credentials of sources have to be given again)."
        ) from error
