"""Lines of a file with their locations, and errors that name them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from search.retrieval.errors import InvalidJudgedSet

#: The most bytes of a file of topics, judgements or a run.
MAX_BYTES = 50_000_000


def read_text(path: Path) -> str:
    """Read the text of a file. Raises InvalidJudgedSet when it isn't UTF-8 or is too big."""
    try:
        if not path.is_file():
            raise InvalidJudgedSet(f"{path} is not a readable file; name one.")
        if path.stat().st_size > MAX_BYTES:
            raise InvalidJudgedSet(f"{path} has more than {MAX_BYTES:,} bytes; split it.")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidJudgedSet(f"{path} can't be read ({error}); give a text file in UTF-8.") from error


def numbered_lines(text: str, where: str) -> Iterator[tuple[str, str]]:
    """Yield the location, like `qrels.txt, line 7`, and the text without line end of each non-blank line."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"{where}, line {number}", line.removesuffix("\r")


@contextmanager
def prefix_errors(where: str) -> Iterator[None]:
    """Prefix the message of an InvalidJudgedSet that is raised within with the location."""
    try:
        yield
    except InvalidJudgedSet as error:
        raise InvalidJudgedSet(f"{where}: {error}") from error
