"""What the search page was asked, as it stands in its address."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from search.retrieval.errors import InvalidQuery, shown
from search.retrieval.types import Mode, SearchQuery

#: How many hits a page may show; the first is the default.
HIT_COUNTS = ("10", "20", "50")
_SNIPPET_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of several links that change one thing about the search."""

    label: str
    address: str
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The parameters as typed, unchecked, so that a refused search can be shown and mended."""

    text: str
    mode: str
    k: str

    @classmethod
    def in_address(cls, parameters: Mapping[str, str]) -> "Asked":
        """Read the parameters of an address; what is missing has its default."""
        return cls(
            text=parameters.get("q", ""),
            mode=parameters.get("mode") or Mode.HYBRID.value,
            k=parameters.get("k") or HIT_COUNTS[0],
        )

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to search for."""
        return not self.text.strip()

    @property
    def address(self) -> str:
        """The query string that asks this again."""
        return urlencode({"q": self.text, "mode": self.mode, "k": self.k})

    @property
    def modes(self) -> list[Choice]:
        """The modes to switch between."""
        return [
            Choice(label=mode, address=replace(self, mode=mode.value).address, is_current=mode == self.mode)
            for mode in (Mode.HYBRID, Mode.LEXICAL, Mode.VECTOR)
        ]

    @property
    def hit_counts(self) -> list[Choice]:
        """The numbers of hits to choose from."""
        return [
            Choice(label=k, address=replace(self, k=k).address, is_current=k == self.k) for k in HIT_COUNTS
        ]

    def query(self) -> SearchQuery:
        """Give the query. Raises InvalidQuery, naming the parameter."""
        if self.k not in HIT_COUNTS:
            raise InvalidQuery(f"k is {shown(self.k)}; a page shows {', '.join(HIT_COUNTS)} hits.")
        return SearchQuery(text=self.text, mode=Mode(self.mode), k=int(self.k), snippet_chars=_SNIPPET_CHARS)
