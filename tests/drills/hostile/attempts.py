"""Seeded hostile requests: queries for the search, and others for every reading endpoint."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from tests.drills.hostile.addresses import malformed_parameters, malformed_target
from tests.drills.hostile.attempt import JSON, MAX_ADDRESS, Attempt, json_body, parameters, percent_encode
from tests.drills.hostile.bodies import BODIES
from tests.drills.hostile.endpoints import ENDPOINTS, SEARCH, SEARCH_BY_GET, Endpoint, Ground
from tests.drills.hostile.text import MAKERS
from tests.drills.hostile.values import hostile_globs, hostile_moment, hostile_value, kind_of_text

MODES = ("lexical", "vector", "hybrid")
_METHODS = ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "HEAD", "PROPFIND", "get", "Q" * 30)
_SESSION = "a" * 32
_HEADERS = (
    *(
        ("Authorization", value)
        for value in ("Bearer", "Bearer  a", "Basic YTpi", "Bearer kbb_a_b", "\xff\xfe", "x" * 9_000)
    ),
    *(("Authorization", f"Bearer kbb_{'a' * 12}_{'a' * 43}"), ("Authorization", "Bearer " + "\xe9" * 60)),
    *(
        ("Cookie", f"sessionid={value}")
        for value in ('"\\000' + _SESSION + '"', _SESSION, "\xff" * 32, "a" * 9_000)
    ),
    *(
        ("Cookie", value)
        for value in (";;;", "=", "csrftoken=" + '"\\000"', "sessionid", f'sessionid="{_SESSION}')
    ),
    *(("Host", value) for value in ("evil.example", "127.0.0.1:99999", "[::", "a" * 3_000, "127.0.0.1@x")),
    *(
        ("Accept", "text/html"),
        ("Accept", "*/*;q=x"),
        ("Accept-Language", "\xff" * 99),
        ("Range", "bytes=-9,0-"),
    ),
    *(("If-None-Match", '"\xff'), ("If-Modified-Since", "NaN"), ("X-HTTP-Method-Override", "DELETE")),
    *(("X-Forwarded-For", "'"), ("X-Forwarded-Host", "evil.example"), ("Idempotency-Key", "\xff" * 300)),
)


def searches(n: int, seed: int, ground: Ground) -> Iterator[Attempt]:
    """Yield `n` searches in all modes, most of them with a hostile query; the same for the same seed."""
    for number in range(n):
        # Each has a seed of its own, so that a failing one can be reproduced alone.
        yield _search(Random(f"{seed}-search-{number}"), MODES[number % len(MODES)], ground)


def probes(n: int, seed: int, ground: Ground) -> Iterator[Attempt]:
    """Yield `n` requests to all endpoints in turn, hostile in any part; the same for the same seed."""
    for number in range(n):
        source = Random(f"{seed}-knock-{number}")
        endpoint = ENDPOINTS[number % len(ENDPOINTS)]
        kinds = {kind: share for kind, share in _PROBES.items() if endpoint.fields or kind not in _OF_FIELDS}
        [kind] = source.choices(list(kinds), list(kinds.values()))
        yield kind(source, endpoint, ground)


def _search(source: Random, mode: str, ground: Ground) -> Attempt:
    kind = kind_of_text(source)
    text = MAKERS[kind](source, ground.words)
    fields = {"q": text, "mode": mode, **_options(source)}
    dice = source.random()
    if dice < 0.6:
        return _request(kind, SEARCH, fields, ground)
    if dice < 0.8:
        by_get = _request(kind, SEARCH_BY_GET, fields, ground)
        return by_get if len(by_get.target) <= MAX_ADDRESS else _request(kind, SEARCH, fields, ground)
    if dice < 0.85:
        channels = {name: text for name in ("vector", "lexical", "rerank") if source.random() < 0.6}
        return _request(f"channels: {kind}", SEARCH, {**fields, "q": "a", "channels": channels}, ground)
    filters = _filters(source, ground)
    return _request(
        "filters", SEARCH, {**fields, "q": source.choice(ground.words), "filters": filters}, ground
    )


def _options(source: Random) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if source.random() < 0.3:
        options["k"] = source.choice([0, 1, 10, 100, 1_000, 10**9, -1])
    if source.random() < 0.1:
        options["snippet_chars"] = source.choice([1, 3, 5_000, 10_000, 0])
    for name in ("explain", "rerank", "cutoff"):
        if source.random() < 0.1:
            options[name] = True
    if source.random() < 0.1:
        options["per_file_cap"] = source.choice([-1, 0, 1, 10**12])
    return options


def _filters(source: Random, ground: Ground) -> dict[str, Any]:
    odd = MAKERS[kind_of_text(source)](source, ground.words)[:2_000]
    every = {
        "path_glob": hostile_globs(source, odd),
        "path_not_glob": hostile_globs(source, odd),
        "code_lang": [odd],
        "tags_any": [odd] * source.choice([1, 100]),
        "lang": odd,
        "trust_min": source.choice(["primary", "unknown", odd]),
        "source": [odd],
        "version": [odd, "v1"],
        "kind": source.choice([["code"], odd]),
        "media": [odd],
        "doc_id": source.choice([["0" * 32], odd]),
        "ingested_after": hostile_moment(source, odd),
        "author": [odd],
        "dated_after": hostile_moment(source, odd),
        "dated_before": hostile_moment(source, odd),
    }
    return dict(source.sample(sorted(every.items()), source.randint(1, 3)))


def _by_text(source: Random, endpoint: Endpoint, ground: Ground) -> Attempt:
    """Return a request whose required fields have hostile text."""
    kind = kind_of_text(source)
    text = MAKERS[kind](source, ground.words)
    fields = endpoint.valid_fields(source, ground)
    if "queries" in fields:
        fields["queries"] = [
            {"q": text},
            {"q": text[:9], "mode": "lexical"},
            {"q": "a", "channels": {"lexical": text}},
        ]
    else:
        fields[source.choice(endpoint.needed or endpoint.fields)] = text
    return _request(kind, endpoint, fields, ground)


def _by_values(source: Random, endpoint: Endpoint, ground: Ground) -> Attempt:
    """Return a request with hostile values in some fields."""
    fields = endpoint.valid_fields(source, ground)
    if "queries" in fields and source.random() < 0.7:
        fields["queries"] = [_with_values(source, SEARCH, ground) for _ in range(source.choice([1, 5, 101]))]
        return _request("values", endpoint, fields, ground)
    return _request("values", endpoint, _with_values(source, endpoint, ground), ground)


def _with_values(source: Random, endpoint: Endpoint, ground: Ground) -> dict[str, Any]:
    names = source.sample(endpoint.fields, min(len(endpoint.fields), source.randint(1, 3)))
    fields = endpoint.valid_fields(source, ground)
    if "cursor" in names:  # which includes the query
        fields.pop("q", None)
    for name in names:
        _set_field(fields, name, hostile_value(name, source, ground))
    return fields


def _by_address(source: Random, endpoint: Endpoint, ground: Ground) -> Attempt:
    """Return a request with malformed parameters."""
    fields = endpoint.valid_fields(source, ground)
    attempt = _request("address", endpoint, fields, ground)
    path = endpoint.target(_escaped_ids(ground))
    return replace(attempt, target=f"{path}?{malformed_parameters(source, fields)}")


def _by_path(source: Random, endpoint: Endpoint, ground: Ground) -> Attempt:
    """Return a request with a malformed id or path."""
    attempt = _request("path", endpoint, endpoint.valid_fields(source, ground), ground)
    _, question, behind = attempt.target.partition("?")
    return replace(attempt, target=f"{malformed_target(source, endpoint, ground)}{question}{behind}")


def _by_body(source: Random, endpoint: Endpoint, ground: Ground) -> Attempt:
    """Return a request with a malformed body, also for GET."""
    kind = source.choice(list(BODIES))
    body = BODIES[kind](source, endpoint.valid_fields(source, ground))
    headers = (("Content-Type", body.content_type), *body.headers)
    return replace(
        _request(f"body: {kind}", endpoint, endpoint.valid_fields(source, ground), ground),
        body=body.content,
        headers=headers,
    )


def _by_header(source: Random, endpoint: Endpoint, ground: Ground) -> Attempt:
    """Return a request with a malformed header or method."""
    attempt = _request("header", endpoint, endpoint.valid_fields(source, ground), ground)
    if source.random() < 0.3:
        return replace(attempt, kind="method", method=source.choice(_METHODS))
    header = source.choice(_HEADERS)
    headers = (*attempt.headers, header)
    return replace(attempt, headers=headers, is_signed=header[0] not in ("Authorization", "Cookie"))


_PROBES: Mapping[Callable[[Random, Endpoint, Ground], Attempt], float] = {
    _by_text: 0.3,
    _by_values: 0.35,
    _by_address: 0.1,
    _by_path: 0.1,
    _by_body: 0.1,
    _by_header: 0.05,
}
# Not applicable to an endpoint without fields.
_OF_FIELDS = (_by_text, _by_values)


def _request(kind: str, endpoint: Endpoint, fields: Mapping[str, Any], ground: Ground) -> Attempt:
    """Return the request with `fields`, in the endpoint's encoding."""
    path = endpoint.target(_escaped_ids(ground))
    if endpoint.method == "GET":
        target = f"{path}?{parameters(fields)}" if fields else path
        return Attempt(kind=kind, endpoint=endpoint.name, method="GET", target=target)
    body, headers = json_body(fields), (("Content-Type", JSON),)
    return Attempt(kind=kind, endpoint=endpoint.name, method="POST", target=path, body=body, headers=headers)


def _escaped_ids(ground: Ground) -> dict[str, str]:
    return {name: percent_encode(value) for name, value in ground.ids().items()}


def _set_field(fields: dict[str, Any], name: str, value: Any) -> None:
    """Set a field by its dotted name; an outer value that isn't a mapping is replaced."""
    outer, _, inner = name.partition(".")
    if not inner:
        fields[outer] = value
        return
    within = fields.get(outer)
    fields[outer] = {**(within if isinstance(within, dict) else {}), inner: value}
