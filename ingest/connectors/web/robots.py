"""Rules of a site for robots: robots.txt (RFC 9309), `<meta name=robots>` and `X-Robots-Tag`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from protego import Protego

#: Kebab's name in rules for robots.
ROBOT: Final = "kebab"
#: RFC 9309, 2.5: at least 500 kibibytes must be read; the rest is ignored.
MAX_ROBOTS_BYTES: Final = 500 * 1024
# Directives with a value after a colon, which must not be taken for a robot's name.
_WITH_VALUES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


class RobotRules:
    """The rules of one site's robots.txt for Kebab."""

    def __init__(self, content: bytes) -> None:
        self._rules = Protego.parse(content[:MAX_ROBOTS_BYTES].decode("utf-8-sig", errors="replace"))

    def allows(self, url: str) -> bool:
        """Return whether `url` may be requested."""
        return self._rules.can_fetch(url, ROBOT)

    @property
    def interval_s(self) -> float:
        """Return the seconds between two requests that the site asks for; 0 if it states none."""
        rate = self._rules.request_rate(ROBOT)
        between_s = 0.0 if rate is None else rate.seconds / rate.requests
        return max(self._rules.crawl_delay(ROBOT) or 0.0, between_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Directives:
    """The directives of a page for robots."""

    noindex: bool = False
    nofollow: bool = False

    @classmethod
    def parse(cls, metas: Iterable[tuple[str, str]], headers: Iterable[str]) -> Self:
        """Combine the directives of a page's meta elements, (name, content) each, and of its headers."""
        words = {word for _, content in metas for word in _split_words(content)}
        for header in headers:
            words.update(_applicable_words(header))
        return cls(noindex=bool(words & {"noindex", "none"}), nofollow=bool(words & {"nofollow", "none"}))


def _split_words(content: str) -> list[str]:
    return [word.strip().lower() for word in content.split(",")]


def _applicable_words(header: str) -> Iterable[str]:
    """Yield the words of a header such as `googlebot: noindex, kebab: nofollow` that apply to Kebab."""
    robot = ""
    for word in _split_words(header):
        before, colon, after = word.partition(":")
        if colon and before.strip() not in _WITH_VALUES:
            robot, word = before.strip(), after.strip()
        if robot in ("", "*", ROBOT):
            yield word
