"""Change numbers with the token of their history, which a client hands back as `min_seq`."""

import re
import uuid

from search.models import Change

_FORM = re.compile(r"([0-9]{1,19})(?:-([0-9a-f]{1,16}))?", re.ASCII)


def format_seq_token(position: tuple[int, int]) -> str:
    """Return the form of a change's number and token that clients get."""
    return f"{position[0]}-{position[1]:x}"


def parse_seq_token(text: str) -> tuple[int, int | None]:
    """Return number and token; the token is None for a plain number. Raises ValueError."""
    form = _FORM.fullmatch(text)
    if form is None:
        raise ValueError(f"Not a change: {text[:60]!r}.")
    seq, token = form.groups()
    return int(seq), None if token is None else int(token, 16)


def read_token(workspace_id: uuid.UUID, seq: int) -> int:
    """Return the token of the change with this number, 0 where the log has none."""
    tokens = Change.objects.in_workspace(workspace_id).filter(seq=seq).values_list("token", flat=True)
    return tokens.first() or 0


def read_seq_token(workspace_id: uuid.UUID, seq: int | None) -> str | None:
    """Return a change's number with its token; None for None."""
    return None if seq is None else format_seq_token((seq, read_token(workspace_id, seq)))
