"""One bar a stage of long work, each shown when it begins."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console

from search.cli.progress_bars import Bar, bar


@contextmanager
def stages(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Return what is told a stage, how much of it is done, and of how much; 0 is not known."""
    shown: dict[str, Bar] = {}
    with ExitStack() as open_bars:

        def show(stage: str, done: int, total: int) -> None:
            if stage not in shown:
                _finish(shown, open_bars)
                shown[stage] = open_bars.enter_context(bar(console, stage.capitalize().ljust(10)))
            shown[stage].show(done, total)

        yield show
        _finish(shown, open_bars)


def _finish(shown: dict[str, Bar], open_bars: ExitStack) -> None:
    """Show the stage before as done, and leave its bar."""
    if shown:
        next(reversed(shown.values())).finish()
    open_bars.pop_all().close()
