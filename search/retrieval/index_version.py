"""Index versions: `lex-…`, `vec-…`, and `hybrid:<lex>+<vec>` for both."""

import re
from dataclasses import dataclass

#: The vector part where a workspace has no embedder.
NO_VECTORS = "vec-none"

_LEXICAL = re.compile(r"lex-[^\s+]+")
_VECTOR = re.compile(r"vec-[^\s+]+")
_SEPARATOR = re.compile(r"[\s+]")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexVersion:
    """The version of the lexical or vector index, or both. Raises: ValueError for a malformed name."""

    lexical: str | None = None
    vector: str | None = None

    def __post_init__(self) -> None:
        if self.lexical is None and self.vector is None:
            raise ValueError("An index version names at least one index.")
        for name, form in ((self.lexical, _LEXICAL), (self.vector, _VECTOR)):
            if name is not None and form.fullmatch(name) is None:
                raise ValueError(f"The index version {name!r} must fit {form.pattern}: no blanks, no '+'.")

    def __str__(self) -> str:
        if self.lexical is None or self.vector is None:
            return self.lexical or self.vector or ""
        return f"hybrid:{self.lexical}+{self.vector}"


def vector_version(space: str, epoch: int) -> str:
    """Return the version of a vector index: its space and the number of changes of its vectors.

    The change log does not record changes of vectors.
    """
    return f"vec-{_SEPARATOR.sub('_', space)}@{epoch}"
