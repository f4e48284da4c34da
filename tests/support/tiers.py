"""A pytest plugin that selects, orders and distributes the tests of a run.

The default tier is deterministic: fixed order, Hypothesis derandomised. `-p randomly` shuffles it and has
Hypothesis look for new examples.
"""

import gc
import zlib

import pytest
from hypothesis import settings as hypothesis_settings
from xdist.scheduler import LoadScopeScheduling

_CEILING_S = 2.0
_OTHER_TIERS = frozenset({"slow", "browser", "timing"})
_SHARED_STACK = "tests/acceptance/"
_SHARED_STAGE = "tests/security/leaks/"
# A leak that shows once is a leak.
_NEVER_REPEATED = "tests/security/"

hypothesis_settings.register_profile("fixed", deadline=None, derandomize=True, database=None, max_examples=50)
hypothesis_settings.register_profile("random", deadline=None, print_blob=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--quarter` and `--always`."""
    parser.addoption(
        "--quarter",
        type=int,
        choices=range(4),
        help="run the files of one of four parts, which together are all",
    )
    parser.addoption("--always", metavar="PATH", help="run the files below PATH with every quarter")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how Hypothesis draws its examples."""
    hypothesis_settings.load_profile("random" if config.pluginmanager.hasplugin("randomly") else "fixed")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the other quarters; begin with what takes longest, so that processes end together."""
    quarter = config.getoption("--quarter")
    if quarter is not None:
        always = config.getoption("--always")
        chosen, others = [], []
        for item in items:
            is_chosen = _quarter_of(item) == quarter or (always and item.nodeid.startswith(always))
            (chosen if is_chosen else others).append(item)
        config.hook.pytest_deselected(items=others)
        items[:] = chosen
    for item in items:
        if item.nodeid.startswith(_NEVER_REPEATED):
            item.add_marker(pytest.mark.flaky(reruns=0))
    items.sort(key=lambda item: not item.nodeid.startswith((_SHARED_STACK, _SHARED_STAGE)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Freeze collected tests for the garbage collector, and run it less often: it took 5 % of a run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let a quarter be empty."""
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and session.config.getoption("--quarter") is not None:
        session.exitstatus = pytest.ExitCode.OK


def _quarter_of(item: pytest.Item) -> int:
    return zlib.crc32(_file_of(item.nodeid).encode()) % 4


def _file_of(nodeid: str) -> str:
    return nodeid.split("::", 1)[0]


class StackScheduling(LoadScopeScheduling):
    """Assigns each file to one process, and files that share a stack or a stage to the same one."""

    def _split_scope(self, nodeid: str) -> str:
        file = _file_of(nodeid)
        shared = (each for each in (_SHARED_STACK, _SHARED_STAGE) if file.startswith(each))
        return next((each for each in shared if file.count("/") == each.count("/")), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> StackScheduling:
    """Share tests by file, and start one stack."""
    return StackScheduling(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests of the default tier that took longer than they may."""
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    over = [each for each in reports if _is_over(each)]
    if over:
        terminalreporter.section(f"over the ceiling of {_CEILING_S:g} s: make them faster or mark them slow")
    for each in sorted(over, key=lambda each: -each.duration):
        terminalreporter.write_line(f"{each.duration:6.2f} s  {each.nodeid}")


def _is_over(report: pytest.TestReport) -> bool:
    is_exempt = not _OTHER_TIERS.isdisjoint(report.keywords) or report.nodeid.startswith(_SHARED_STACK)
    return report.when == "call" and report.duration > _CEILING_S and not is_exempt
