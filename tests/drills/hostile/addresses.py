"""Malformed addresses: in the parameters, in the ids, or in the spelling of the path."""

from collections.abc import Mapping
from random import Random
from typing import Any

from tests.drills.hostile.attempt import parameters, percent_encode
from tests.drills.hostile.endpoints import Endpoint, Ground
from tests.drills.hostile.values import hostile_id

# More than any browser sends, but a program may; beyond it the server's own limit answers.
_LONG = 60_000
_MANY = (200, 999, 1_001, 5_000)
_SUFFIXES = (
    *(
        "%ff%fe",
        "q=%",
        "q=%zz",
        "q=%u0041",
        "q=%c0%af",
        "q=%ed%a0%80",
        "q=%00",
        "%00=1",
        "=",
        "&&==&",
        "q",
        "?",
    ),
    *(
        "q=a;q=b",
        "q[]=a",
        "q[$ne]=a",
        "Q=a",
        "q%20=a",
        "filters.lang=a",
        "filters=%7B%7D",
        "__proto__=1",
        "_=1",
    ),
    *(
        "mode=lexical&mode=vector",
        "q=a&q=b",
        "limit=1&limit=2",
        "format=json",
        "k=1&k=",
        "q=%F4%90%80%80",
        "+=+",
    ),
)
_PATHS = (
    "{}/",
    "{}.json",
    "/{}",
    "{};a=b",
    "{}%00",
    "{}%0d%0aX:1",
    "{}/../search",
    "{}//",
    "{}%2f",
    "{}\\",
    "{}#a",
    "{}~",
)


def malformed_parameters(source: Random, fields: Mapping[str, Any]) -> str:
    """Return `fields` as parameters, followed by something wrong or far too much."""
    names = list(fields) or ["q"]
    many = source.choice(_MANY)
    behind = source.choice(
        [
            *_SUFFIXES * 2,
            "&".join(f"a{number}=1" for number in range(many)),
            "&".join(f"{source.choice(names)}={number}" for number in range(many)),
            "&" * _LONG,
            f"{source.choice(names)}={'a' * _LONG}",
            f"{source.choice(names)}={'%F0%9F%98%80' * 2_000}",
            f"{'a' * _LONG}=1",
            "a" * 2 * _LONG,
        ]
    )
    return f"{parameters(fields)}&{behind}"


def malformed_target(source: Random, endpoint: Endpoint, ground: Ground) -> str:
    """Return the endpoint's address with a hostile id in it, or in an unusual spelling."""
    ids = {name: percent_encode(value) for name, value in ground.ids().items()}
    names = [name for name in ids if f"{{{name}}}" in endpoint.path]
    if names and source.random() < 0.7:
        ids[source.choice(names)] = percent_encode(hostile_id(source, ground))
        return endpoint.target(ids)
    return source.choice(_PATHS).format(endpoint.target(ids))
