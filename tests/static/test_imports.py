"""The import rules of `docs/architecture.md`, checked on the source alone."""

import ast
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PACKAGES = ("kebab", "search", "ingest")
# The composition root: the one module of kebab that knows the other two.
URL_TABLE = "kebab.urls"
# The programs that a stack runs, which name parts of all packages of kebab.
PROGRAMS = {URL_TABLE, "kebab.asgi", "kebab.celery", "kebab.settings", "kebab.wsgi"}


def modules() -> list[tuple[str, Path]]:
    """Return every module of the product with its file."""
    return [(module_name(file), file) for package in PACKAGES for file in (ROOT / package).rglob("*.py")]


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(source: str) -> Iterator[str]:
    """Return the modules that a source imports, also inside functions and through importlib."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are banned"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            assert node.args
            yield _named_module(node.args[0])


def _named_module(argument: ast.expr) -> str:
    """Return the module that importlib is given, or the package whose modules it is given by name."""
    if isinstance(argument, ast.JoinedStr):
        first, *rest = argument.values
        is_of_package = isinstance(first, ast.Constant) and str(first.value).endswith(".") and len(rest) == 1
        assert is_of_package, "an import that can't be read can't be checked"
        return str(first.value).removesuffix(".")
    assert isinstance(argument, ast.Constant), "an import that can't be read can't be checked"
    return str(argument.value)


def top(name: str) -> str:
    return name.partition(".")[0]


def first_two(name: str) -> str:
    return ".".join(name.split(".")[:2])


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def forbidden(module: str, imported: str) -> bool:
    """Return whether `module` may not import `imported`."""
    if top(imported) == "tests":
        return True
    if is_within(module, "search.retrieval"):
        allowed = {*sys.stdlib_module_names, "numpy"}
        return (
            top(imported) not in allowed
            and imported != "search"
            and not is_within(imported, "search.retrieval")
        )
    if top(module) == "kebab":
        return module != URL_TABLE and top(imported) in {"search", "ingest"}
    return top(module) == "search" and top(imported) == "ingest"


def test_every_import_is_one_that_the_table_allows():
    found = [
        f"{module} imports {imported}"
        for module, file in modules()
        for imported in imports(file.read_text())
        if forbidden(module, imported)
    ]
    assert found == []


def test_packages_of_kebab_import_each_other_in_one_direction():
    graph: dict[str, set[str]] = {}
    for module, file in modules():
        if top(module) == "kebab" and module not in PROGRAMS:
            found = {first_two(each) for each in imports(file.read_text()) if is_within(each, "kebab")}
            graph.setdefault(first_two(module), set()).update(found - PROGRAMS - {"kebab", first_two(module)})
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_import_check_visits_all_packages():
    names = {module for module, _ in modules()}
    assert {
        "kebab.settings",
        "search.engine.search",
        "search.retrieval.types",
        "ingest.jobs.queue.run",
        URL_TABLE,
    } <= names


@pytest.mark.parametrize(
    ("module", "source", "verdict"),
    [
        ("kebab.http.api.views", "import search.engine.search", True),
        ("kebab.http.api.views", "def late():\n    from ingest.jobs import run", True),
        ("kebab.http.api.views", "import importlib\nimportlib.import_module('search.engine.search')", True),
        ("kebab.urls", "from search.api import urls", False),
        ("kebab.urls", "import tests.support.servers", True),
        ("search.engine.search", "from ingest.models import Job", True),
        ("search.engine.search", "from kebab.identity.models import Workspace", False),
        ("ingest.jobs.queue.run", "from search.corpus import Place", False),
        ("ingest.jobs.queue.run", "from tests.integration.search.corpus import making", True),
        ("search.retrieval.types", "import json, numpy as np", False),
        ("search.retrieval.types", "from search.retrieval import errors", False),
        ("search.retrieval.types", "from search import engine", True),
        ("search.retrieval.types", "import search.models", True),
        ("search.retrieval.types", "from django.db import models", True),
        ("search.retrieval.types", "from kebab import failpoints", True),
        ("search.retrieval", "import blake3", True),
    ],
)
def test_forbidden_import_is_reported(module, source, verdict):
    assert any(forbidden(module, imported) for imported in imports(source)) is verdict
