"""The HTTP endpoint of a model as the settings name it, and its validation."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from kebab.http_client.addresses import is_explicit_address

_HEADER_VALUE = re.compile(r"[\x21-\x7e]*")
_UNITS = {"LIMIT_S": (1, "seconds"), "LIMIT_MS": (1_000, "milliseconds")}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingProblem:
    """A problem with one setting, and the remedy."""

    setting: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """The names and bounds of the settings of an endpoint."""

    #: Beginning of the names, such as `KEBAB_ANSWER`.
    prefix: str
    #: End of the name of the time limit, with its unit: `LIMIT_S` or `LIMIT_MS`.
    limit: str
    max_limit_s: int
    url_examples: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredEndpoint:
    """An endpoint as the settings name it, not yet validated."""

    settings: EndpointSettings
    url: str
    model: str
    api_key: str = field(repr=False)
    limit_s: float
    #: Host names that may resolve to private addresses.
    private_hosts: frozenset[str]
    #: End of the name of the key's setting, such as `_TEI`.
    key_suffix: str = ""
    needs_key: bool = False
    needs_model: bool = True

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of a request."""
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}

    def url_of(self, operation: str) -> str:
        """Return the URL with `operation`, such as `/rerank`, at its end, which the setting may omit."""
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/").removesuffix(operation)
        return parts._replace(path=f"{path}{operation}").geturl()

    def problems(self) -> list[SettingProblem]:
        """Return the problems of the settings that can be found without a network."""
        prefix = self.settings.prefix
        return [
            *url_problems(f"{prefix}_URL", self.url, f"{prefix}_API_KEY", self.settings.url_examples),
            *self._key_problems(),
            *self._model_problems(),
            *self.limit_problems(),
        ]

    def limit_problems(self) -> Iterator[SettingProblem]:
        """Yield the problem of the time limit."""
        per_second, unit = _UNITS[self.settings.limit]
        if not 0 < self.limit_s <= self.settings.max_limit_s:
            setting = f"{self.settings.prefix}_{self.settings.limit}"
            yield SettingProblem(
                setting=setting,
                message=f"{setting} is {round(self.limit_s * per_second)}",
                remedy=f"Give 1 to {self.settings.max_limit_s * per_second} {unit}.",
            )

    def _key_problems(self) -> Iterator[SettingProblem]:
        setting = f"{self.settings.prefix}_API_KEY{self.key_suffix}"
        if self.needs_key and not self.api_key:
            yield SettingProblem(
                setting=setting,
                message=f"{self.model} needs a key, and {setting} is not set",
                remedy="Set it to the key of the endpoint.",
            )
        if _HEADER_VALUE.fullmatch(self.api_key) is None:
            yield SettingProblem(
                setting=setting,
                message=f"{setting} holds characters that no header may have",
                remedy="Give the key alone, without white space.",
            )

    def _model_problems(self) -> Iterator[SettingProblem]:
        if self.needs_model and not self.model:
            yield SettingProblem(
                setting=f"{self.settings.prefix}_MODEL",
                message=f"{self.settings.prefix}_MODEL is not set, and the endpoint needs it",
                remedy="Set it to the model to ask for.",
            )


def describe_problems(problems: Sequence[SettingProblem]) -> str:
    """Return the problems with their remedies in one text."""
    return "; ".join(f"{each.message}. {each.remedy}" for each in problems)


def literal_hosts(url: str) -> frozenset[str]:
    """Return the URL's host if it is an IP address or `localhost`; such a host may be private."""
    host = _split_url(url)[1]
    return frozenset({host}) if host and is_explicit_address(host) else frozenset()


def url_problems(setting: str, url: str, key_setting: str, examples: str) -> Iterator[SettingProblem]:
    """Yield the problem of the URL in `setting`; the message omits it, as it may contain a key."""
    parts, host = _split_url(url)
    if parts is None or host is None or parts.scheme not in {"http", "https"}:
        yield SettingProblem(
            setting=setting,
            message=f"{setting} is not the URL of an endpoint",
            remedy=f"Give one like {examples}.",
        )
    elif parts.username is not None or parts.password is not None:
        yield SettingProblem(
            setting=setting,
            message=f"{setting} has a name or a password in it",
            remedy=f"Put the key into {key_setting}.",
        )


def _split_url(url: str) -> tuple[SplitResult | None, str | None]:
    """Return the parts of a URL and its host; None if it is invalid."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for an invalid port
    except ValueError:
        return None, None
    return parts, parts.hostname
