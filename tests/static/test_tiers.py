"""The default tier is deterministic: its tests neither sleep nor read a clock."""

import ast

import pytest

from tests.support.paths import ROOT

TESTS = ROOT / "tests"
OTHER_TIERS = {"slow", "browser", "timing"}
#: Waits for a condition, measures on purpose, or is a tool that runs by hand.
EXEMPT = ("support", "drills", "static", "files")
CLOCKS = {"sleep", "time", "monotonic", "perf_counter", "monotonic_ns", "perf_counter_ns", "process_time"}


def default_tier(tree):
    """Yield the nodes of a module outside the functions and classes that other tiers have."""
    if marks(tree.body):
        return
    todo = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ClassDef) and marks(node.body):
            continue
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and other_tier(*node.decorator_list):
            continue
        yield node
        todo += ast.iter_child_nodes(node)


def marks(body):
    """Return whether a module or a class names another tier in its `pytestmark`."""
    assigned = [node for node in body if isinstance(node, ast.Assign)]
    return any(
        other_tier(node.value)
        for node in assigned
        if any(isinstance(each, ast.Name) and each.id == "pytestmark" for each in node.targets)
    )


def other_tier(*expressions):
    text = " ".join(map(ast.unparse, expressions))
    return "needs_browser" in text or any(f"mark.{tier}" in text for tier in OTHER_TIERS)


def clock_calls(source):
    """Return the lines of the default tier of a module that call `time.sleep` or a clock of `time`."""
    tree = ast.parse(source)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "time"]
    clocks = {f"time.{name}" for name in CLOCKS}
    clocks |= {name.asname or name.name for node in imports for name in node.names if name.name in CLOCKS}
    return [
        node.lineno
        for node in default_tier(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in clocks
    ]


def test_default_tests_neither_sleep_nor_read_a_clock():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted([*TESTS.rglob("test_*.py"), *TESTS.rglob("conftest.py")])
        if path.relative_to(TESTS).parts[0] not in EXEMPT
        for line in clock_calls(path.read_text())
    ]

    assert found == [], "Wait with tests.support.stack.eventually, inject a clock, or mark the test slow."


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("def test_a():\n    time.sleep(1)", [2]),
        ("def test_a():\n    began = time.monotonic()", [2]),
        ("from time import sleep as wait\n\n\ndef test_a():\n    wait(1)", [5]),
        ("@pytest.mark.slow\ndef test_a():\n    time.sleep(1)", []),
        ("pytestmark = pytest.mark.timing\ndef test_a():\n    time.sleep(1)", []),
        ("class TestA:\n    pytestmark = needs_browser\n    def test_a(self):\n        time.sleep(1)", []),
    ],
)
def test_the_check_sees_calls_of_the_default_tier_alone(source, lines):
    assert clock_calls(source) == lines
