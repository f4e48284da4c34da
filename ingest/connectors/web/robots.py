"""What a site lets robots do: robots.txt (RFC 9309), `<meta name=robots>` and `X-Robots-Tag`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from protego import Protego

#: The name by which sites may speak to Kebab.
ROBOT: Final = "kebab"
#: RFC 9309, 2.5: at least 500 kibibytes have to be read; what is behind them is not.
MAX_ROBOTS_BYTES: Final = 500 * 1024
# Directives whose value follows a colon, as a robot's name does.
_WITH_VALUES = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


class RobotRules:
    """The rules of one site for us."""

    def __init__(self, content: bytes) -> None:
        self._rules = Protego.parse(content[:MAX_ROBOTS_BYTES].decode("utf-8-sig", errors="replace"))

    def allow(self, url: str) -> bool:
        """Return whether `url` may be asked for."""
        return self._rules.can_fetch(url, ROBOT)

    @property
    def interval_s(self) -> float:
        """Return the seconds between two requests that the site asks for; 0 when it says nothing."""
        rate = self._rules.request_rate(ROBOT)
        between_s = 0.0 if rate is None else rate.seconds / rate.requests
        return max(self._rules.crawl_delay(ROBOT) or 0.0, between_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Directives:
    """What a page asks of robots."""

    noindex: bool = False
    nofollow: bool = False

    @classmethod
    def read(cls, metas: Iterable[tuple[str, str]], headers: Iterable[str]) -> Self:
        """Return what a page's meta elements, (name, content) each, and its headers say together."""
        asked = {word for _, content in metas for word in _words(content)}
        for header in headers:
            asked.update(_for_us(header))
        return cls(noindex=bool(asked & {"noindex", "none"}), nofollow=bool(asked & {"nofollow", "none"}))


def _words(content: str) -> list[str]:
    return [word.strip().lower() for word in content.split(",")]


def _for_us(header: str) -> Iterable[str]:
    """Return the words of `googlebot: noindex, kebab: nofollow` that are for all robots or for us."""
    robot = ""
    for word in _words(header):
        before, colon, after = word.partition(":")
        if colon and before.strip() not in _WITH_VALUES:
            robot, word = before.strip(), after.strip()
        if robot in ("", "*", ROBOT):
            yield word
