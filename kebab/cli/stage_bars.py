"""Progress bars for the stages of long work, each shown when its stage starts."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console

from kebab.cli.progress_bars import Bar, bar


@contextmanager
def stages(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that takes a stage, the amount done, and the total, 0 if unknown."""
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
    """Show the previous stage as done, and keep its bar on the screen."""
    if shown:
        next(reversed(shown.values())).finish()
    open_bars.pop_all().close()
