"""Word recall: the share of the words a file shows that are found in the passages of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from ingest.digest.types import Digest
from tests.drills.files.visible_text import words

#: recall of the median file of a format, at least
LEAST_MEDIAN = 0.99
#: files with the lowest recall that are listed, and words of them
WORST, WORDS_TOLD = 20, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The recall of one file, with the words that were lost."""

    path: str
    n_words: int
    lost: tuple[str, ...]
    #: kinds of omissions that the reader reported
    omissions: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Return the share of words found, from 0 to 1."""
        return 1 - len(self.lost) / self.n_words


def compare(path: str, seen: set[str], digest: Digest) -> Recall:
    """Return the recall of a file that shows the words `seen`, at least one."""
    found = words("\n".join(_texts(digest)))
    lost = tuple(sorted(seen - found))
    return Recall(path=path, n_words=len(seen), lost=lost, omissions=tuple(digest.omissions))


def _texts(digest: Digest) -> Iterator[str]:
    yield digest.title
    for chunk in digest.chunks:
        yield from (chunk.text, chunk.plain, *chunk.heading_path)


def figures(recalls: Sequence[Recall]) -> dict[str, float]:
    """Return the number of files, quartiles and the share of files of at least LEAST_MEDIAN."""
    shares = [each.share for each in recalls]
    return {
        "files": len(shares),
        "median": median(shares),
        "lower quartile": quantiles(shares, n=4, method="inclusive")[0] if len(shares) > 1 else shares[0],
        "lower tenth": quantiles(shares, n=10, method="inclusive")[0] if len(shares) > 1 else shares[0],
        f"share ≥ {LEAST_MEDIAN}": sum(share >= LEAST_MEDIAN for share in shares) / len(shares),
    }


def worst(recalls: Sequence[Recall]) -> list[Recall]:
    """Return the files below 1 with the lowest recall, the lowest first."""
    return sorted((each for each in recalls if each.lost), key=lambda each: (each.share, each.path))[:WORST]
