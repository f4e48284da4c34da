"""docs/operations/observability.md lists every metric that the product declares."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.static.test_language import product_files
from tests.support.paths import ROOT

_PAGE = ROOT / "docs" / "operations" / "observability.md"
_DECLARING = {"Counter", "Gauge", "Histogram", "declare_gauge"}
_NAME = r"(?:kebab|process)_[a-z_]+"
#: Suffixes of a histogram's samples.
_SAMPLES = re.compile(r"_(?:bucket|sum|count)$")
#: Prometheus' own conventions: a noun phrase with its unit, and a full stop.
_HELP = re.compile(r"(?:[A-Z]|1 if )[^?!]+\.")


def declared_metrics(source: str) -> Iterator[tuple[str, str]]:
    """Yield name and help text of each metric that a module declares."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Name(id=function),
                args=[ast.Constant(value=str(name)), ast.Constant(value=str(help)), *_],
            ) if function in _DECLARING:
                yield name, help
            case ast.Call(
                func=ast.Name(id="Family"),
                keywords=[
                    ast.keyword(arg="name", value=ast.Constant(value=str(name))),
                    ast.keyword(arg="help", value=ast.Constant(value=str(help))),
                    *_,
                ],
            ):
                yield name, help


@cache
def all_metrics() -> dict[str, str]:
    sources = (file.read_text() for file in product_files())
    return dict(each for source in sources if re.search(_NAME, source) for each in declared_metrics(source))


def test_every_declared_metric_is_listed_in_the_documentation():
    documented = set(re.findall(rf"`({_NAME})[`{{]", _PAGE.read_text()))

    assert all_metrics().keys() - documented == set()


def test_documentation_names_declared_metrics_only():
    named = set(re.findall(rf"\b({_NAME})\b", _PAGE.read_text()))

    assert {_SAMPLES.sub("", name) for name in named} - all_metrics().keys() == set()


def test_metric_help_is_a_sentence_with_a_full_stop():
    assert {name: help for name, help in all_metrics().items() if not _HELP.fullmatch(help)} == {}


def test_declarations_of_metrics_are_found():
    source = 'Counter("kebab_a_total", "Total number of a.")\nFamily(name="kebab_b", help="B.", kind="gauge")'

    assert dict(declared_metrics(source)) == {"kebab_a_total": "Total number of a.", "kebab_b": "B."}
