"""The HTTP endpoint of a model as the settings name it, and its validation."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from kebab.http_client.connections import is_explicit_address

_HEADER_VALUE = re.compile(r"[\x21-\x7e]*")
_UNITS = {"LIMIT_S": (1, "seconds"), "LIMIT_MS": (1_000, "milliseconds")}


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """A problem with one setting, and the remedy."""

    setting: str
    #: The sentence that begins with the setting.
    fault: str
    remedy: str

    @property
    def message(self) -> str:
        """Return the problem as a sentence."""
        return f"{self.setting} {self.fault}"


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
    #: End of the name of the key's setting, such as `_TEI`; the key is required then.
    key_suffix: str = ""
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
        key_setting = f"{self.settings.prefix}_API_KEY{self.key_suffix}"
        found = (
            url_problem(f"{self.settings.prefix}_URL", self.url, key_setting, self.settings.url_examples),
            self._key_problem(key_setting),
            self._model_problem(f"{self.settings.prefix}_MODEL"),
            self.limit_problem(),
        )
        return [problem for problem in found if problem is not None]

    def limit_problem(self) -> SettingProblem | None:
        """Return the problem of the time limit, None if it has none."""
        if 0 < self.limit_s <= self.settings.max_limit_s:
            return None
        setting = f"{self.settings.prefix}_{self.settings.limit}"
        per_second, unit = _UNITS[self.settings.limit]
        remedy = f"Give 1 to {self.settings.max_limit_s * per_second} {unit}."
        return SettingProblem(setting, f"is {round(self.limit_s * per_second)}", remedy)

    def _key_problem(self, setting: str) -> SettingProblem | None:
        if self.key_suffix and not self.api_key:
            return SettingProblem(setting, f"is not set, and {self.model} needs it", "Set it to the key.")
        if _HEADER_VALUE.fullmatch(self.api_key) is None:
            fault = "holds characters that no header may have"
            return SettingProblem(setting, fault, "Give the key alone, without white space.")
        return None

    def _model_problem(self, setting: str) -> SettingProblem | None:
        if self.model or not self.needs_model:
            return None
        return SettingProblem(
            setting, "is not set, and the endpoint needs it", "Set it to the model to ask for."
        )


def describe_problems(problems: Sequence[SettingProblem]) -> str:
    """Return the problems with their remedies in one text."""
    return "; ".join(f"{each.message}. {each.remedy}" for each in problems)


def url_problem(setting: str, url: str, key_setting: str, examples: str) -> SettingProblem | None:
    """Return the problem of the URL in `setting`; the message omits it, as it may contain a key."""
    parts, host = _split_url(url)
    if parts is None or host is None or parts.scheme not in {"http", "https"}:
        return SettingProblem(setting, "is not the URL of an endpoint", f"Give one like {examples}.")
    if parts.username is not None or parts.password is not None:
        fault = "has a name or a password in it"
        return SettingProblem(setting, fault, f"Put the key into {key_setting}.")
    return None


def literal_hosts(url: str) -> frozenset[str]:
    """Return the URL's host if it is an IP address or `localhost`; such a host may be private."""
    host = _split_url(url)[1]
    return frozenset({host}) if host and is_explicit_address(host) else frozenset()


def _split_url(url: str) -> tuple[SplitResult | None, str | None]:
    """Return the parts of a URL and its host; None if it is invalid."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for an invalid port
    except ValueError:
        return None, None
    return parts, parts.hostname
