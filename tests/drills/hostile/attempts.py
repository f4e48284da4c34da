"""Hostile requests, seeded: queries for the search, and all else for every door that reads."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from tests.drills.hostile.addresses import bent_parameters, bent_target
from tests.drills.hostile.attempt import JSON, MAX_ADDRESS, Attempt, escaped, json_body, parameters
from tests.drills.hostile.bodies import BODIES
from tests.drills.hostile.doors import DOORS, SEARCH, SEARCH_BY_GET, Door, Ground
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
    """Return `n` searches in all modes, most of them hostile by their query; the same for the same seed."""
    for number in range(n):
        # Each has a seed of its own, so that one that fails can be made again by itself.
        yield _search(Random(f"{seed}-search-{number}"), MODES[number % len(MODES)], ground)


def knocks(n: int, seed: int, ground: Ground) -> Iterator[Attempt]:
    """Return `n` requests at all doors in turn, hostile in any part; the same for the same seed."""
    for number in range(n):
        source = Random(f"{seed}-knock-{number}")
        door = DOORS[number % len(DOORS)]
        kinds = {kind: share for kind, share in _KNOCKS.items() if door.fields or kind not in _OF_FIELDS}
        [kind] = source.choices(list(kinds), list(kinds.values()))
        yield kind(source, door, ground)


def _search(source: Random, mode: str, ground: Ground) -> Attempt:
    kind = kind_of_text(source)
    text = MAKERS[kind](source, ground.words)
    asked = {"q": text, "mode": mode, **_options(source)}
    dice = source.random()
    if dice < 0.6:
        return _asking(kind, SEARCH, asked, ground)
    if dice < 0.8:
        by_get = _asking(kind, SEARCH_BY_GET, asked, ground)
        return by_get if len(by_get.target) <= MAX_ADDRESS else _asking(kind, SEARCH, asked, ground)
    if dice < 0.85:
        channels = {name: text for name in ("vector", "lexical", "rerank") if source.random() < 0.6}
        return _asking(f"channels: {kind}", SEARCH, {**asked, "q": "a", "channels": channels}, ground)
    filters = _filters(source, ground)
    return _asking("filters", SEARCH, {**asked, "q": source.choice(ground.words), "filters": filters}, ground)


def _options(source: Random) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if source.random() < 0.3:
        given["k"] = source.choice([0, 1, 10, 100, 1_000, 10**9, -1])
    if source.random() < 0.1:
        given["snippet_chars"] = source.choice([1, 3, 5_000, 10_000, 0])
    for name in ("explain", "rerank", "cutoff"):
        if source.random() < 0.1:
            given[name] = True
    if source.random() < 0.1:
        given["per_file_cap"] = source.choice([-1, 0, 1, 10**12])
    return given


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
    }
    return dict(source.sample(sorted(every.items()), source.randint(1, 3)))


def _by_text(source: Random, door: Door, ground: Ground) -> Attempt:
    """What has to be there is hostile text."""
    kind = kind_of_text(source)
    text = MAKERS[kind](source, ground.words)
    asked = door.fitting(source, ground)
    if "queries" in asked:
        asked["queries"] = [
            {"q": text},
            {"q": text[:9], "mode": "lexical"},
            {"q": "a", "channels": {"lexical": text}},
        ]
    else:
        asked[source.choice(door.needed or door.fields)] = text
    return _asking(kind, door, asked, ground)


def _by_values(source: Random, door: Door, ground: Ground) -> Attempt:
    """Some fields have hostile values."""
    asked = door.fitting(source, ground)
    if "queries" in asked and source.random() < 0.7:
        asked["queries"] = [_with_values(source, SEARCH, ground) for _ in range(source.choice([1, 5, 101]))]
        return _asking("values", door, asked, ground)
    return _asking("values", door, _with_values(source, door, ground), ground)


def _with_values(source: Random, door: Door, ground: Ground) -> dict[str, Any]:
    names = source.sample(door.fields, min(len(door.fields), source.randint(1, 3)))
    asked = door.fitting(source, ground)
    if "cursor" in names:  # which has its query already
        asked.pop("q", None)
    for name in names:
        _put(asked, name, hostile_value(name, source, ground))
    return asked


def _by_address(source: Random, door: Door, ground: Ground) -> Attempt:
    """What stands behind `?` is wrong."""
    asked = door.fitting(source, ground)
    attempt = _asking("address", door, asked, ground)
    path = door.target(_escaped_ids(ground))
    return replace(attempt, target=f"{path}?{bent_parameters(source, asked)}")


def _by_path(source: Random, door: Door, ground: Ground) -> Attempt:
    """An id or the path is wrong."""
    attempt = _asking("path", door, door.fitting(source, ground), ground)
    _, question, behind = attempt.target.partition("?")
    return replace(attempt, target=f"{bent_target(source, door, ground)}{question}{behind}")


def _by_body(source: Random, door: Door, ground: Ground) -> Attempt:
    """The body is wrong; a GET gets one."""
    kind = source.choice(list(BODIES))
    body = BODIES[kind](source, door.fitting(source, ground))
    headers = (("Content-Type", body.content_type), *body.headers)
    return replace(
        _asking(f"body: {kind}", door, door.fitting(source, ground), ground),
        body=body.content,
        headers=headers,
    )


def _by_header(source: Random, door: Door, ground: Ground) -> Attempt:
    """A header, or the method, is wrong."""
    attempt = _asking("header", door, door.fitting(source, ground), ground)
    if source.random() < 0.3:
        return replace(attempt, kind="method", method=source.choice(_METHODS))
    header = source.choice(_HEADERS)
    headers = (*attempt.headers, header)
    return replace(attempt, headers=headers, is_signed=header[0] not in ("Authorization", "Cookie"))


_KNOCKS: Mapping[Callable[[Random, Door, Ground], Attempt], float] = {
    _by_text: 0.3,
    _by_values: 0.35,
    _by_address: 0.1,
    _by_path: 0.1,
    _by_body: 0.1,
    _by_header: 0.05,
}
# There is nothing of this kind to send to a door that takes no fields.
_OF_FIELDS = (_by_text, _by_values)


def _asking(kind: str, door: Door, asked: Mapping[str, Any], ground: Ground) -> Attempt:
    """The request for `asked`, as the door takes it."""
    path = door.target(_escaped_ids(ground))
    if door.method == "GET":
        target = f"{path}?{parameters(asked)}" if asked else path
        return Attempt(kind=kind, door=door.name, method="GET", target=target)
    body, headers = json_body(asked), (("Content-Type", JSON),)
    return Attempt(kind=kind, door=door.name, method="POST", target=path, body=body, headers=headers)


def _escaped_ids(ground: Ground) -> dict[str, str]:
    return {name: escaped(value) for name, value in ground.ids().items()}


def _put(asked: dict[str, Any], name: str, value: Any) -> None:
    """Set a field by its dotted name; one inside another needs that to hold fields."""
    outer, _, inner = name.partition(".")
    if not inner:
        asked[outer] = value
        return
    within = asked.get(outer)
    asked[outer] = {**(within if isinstance(within, dict) else {}), inner: value}
