"""The secrets of the embedded stack: made once at random, kept in the data directory."""

import json
import secrets
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kebab.stack.errors import PathRefused
from kebab.stack.locks import exclusive
from kebab.stack.paths import DataDirectory, replace_text


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSecrets:
    """What the embedded stack must know and nobody else; never part of a log or a representation."""

    secret_key: str = field(repr=False)
    redis_password: str = field(repr=False)
    #: Names this data directory's files where they have to lie outside it.
    stack_id: str


def load_or_create(data_dir: Path) -> StackSecrets:
    """The secrets of a data directory; processes that ask at once get the same ones.

    Raises:
        PathRefused: the file cannot be read, or is not what was written.
    """
    directory = DataDirectory(data_dir)
    found = _load(directory.secrets)
    if found is not None:
        return found
    directory.ensure()
    with exclusive(directory.run / "secrets.lock"):
        found = _load(directory.secrets)
        if found is None:
            found = _fresh()
            replace_text(directory.secrets, json.dumps(asdict(found), indent=1) + "\n")
    return found


def _fresh() -> StackSecrets:
    return StackSecrets(
        secret_key=secrets.token_urlsafe(50),
        redis_password=secrets.token_hex(32),
        stack_id=uuid.uuid4().hex,
    )


def _load(path: Path) -> StackSecrets | None:
    try:
        return StackSecrets(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise PathRefused(
            f"{path} cannot be read by this user; run as the user who made it, or set KEBAB_DATA_DIR."
        ) from error
    except (ValueError, TypeError) as error:
        raise PathRefused(
            f"{path} is damaged; restore it, or remove it to get new secrets (sessions end, tokens stay)."
        ) from error
