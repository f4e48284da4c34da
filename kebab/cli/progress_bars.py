"""Progress bars on stderr. Without a terminal only a bar's last state is written, on one line."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from kebab.cli.output import plain

# The rate is that of the last seconds: a batch of large files must not distort the estimate for long.
_RATE_WINDOW_S = 10.0
_SHOWN_PATH_CHARS = 48


@dataclass(slots=True, kw_only=True)
class Meter:
    """The progress of counted work. Neither the count nor the share done ever decreases."""

    done: int = 0
    total: int = 0
    #: In [0, 1].
    share: float = 0.0
    _marks: list[tuple[float, int]] = field(default_factory=list)

    def update(self, done: int, total: int, *, now_s: float) -> None:
        """Record the count done and the total at `now_s`, a time of any monotonic clock."""
        self.done = max(self.done, done)
        self.total = max(self.total, total, self.done)
        if self.total:
            self.share = max(self.share, self.done / self.total)
        recent = [mark for mark in self._marks if mark[0] >= now_s - _RATE_WINDOW_S]
        self._marks = [*recent, (now_s, self.done)]

    @property
    def rate(self) -> float | None:
        """Return the rate per second; None while unknown."""
        if len(self._marks) < 2:
            return None
        (began_s, before), (now_s, done) = self._marks[0], self._marks[-1]
        return (done - before) / (now_s - began_s) if now_s > began_s else None

    @property
    def remaining_s(self) -> float | None:
        """Return the time to the end at the present rate; None while unknown."""
        return (self.total - self.done) / self.rate if self.rate else None


class Bar:
    """A progress bar on one line: title, bar, amount, rate, remaining time, and current item."""

    def __init__(self, progress: Progress, title: str) -> None:
        self._progress = progress
        self._meter = Meter()
        self._task = progress.add_task(title, total=None, amount="", pace="", at="")

    def show(self, done: int, total: int, *, at: str = "") -> None:
        """Show the state of the work; a total of 0 means unknown."""
        self._meter.update(done, total, now_s=time.monotonic())
        meter = self._meter
        self._progress.update(
            self._task,
            total=1.0 if meter.total else None,
            completed=meter.share,
            amount=f"{meter.done:,}/{meter.total:,}" if meter.total else "",
            pace=pace(meter),
            at=shorten_path(plain(at)),
        )

    def finish(self) -> None:
        """Show a full bar, also if there was nothing to do."""
        self._progress.update(self._task, total=1.0, completed=1.0, pace="", at="")


@contextmanager
def bar(console: Console, title: str) -> Iterator[Bar]:
    """Show a bar on the stream of `console` while the block runs; a quiet console shows none."""
    # Live output needs the real width, which `people_console` doesn't have for a pipe.
    screen = Console(file=console.file, quiet=console.quiet, markup=False, emoji=False, highlight=False)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        *(TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in ("amount", "pace", "at")),
    )
    with Progress(*columns, console=screen, refresh_per_second=8) as progress:
        yield Bar(progress, title)


@contextmanager
def counting_bar(console: Console, title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar for `total` steps while the block runs; yield the function to call after each step."""
    with bar(console, title) as shown:
        done = 0
        shown.show(0, total)

        def advance() -> None:
            nonlocal done
            done += 1
            shown.show(done, total)

        yield advance
        shown.finish()


@contextmanager
def spinner(console: Console, title: str) -> Iterator[None]:
    """Show a spinner while the block runs."""
    screen = Console(file=console.file, quiet=console.quiet, markup=False, emoji=False, highlight=False)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=screen, refresh_per_second=8, transient=screen.is_terminal) as progress:
        progress.add_task(title, total=None)
        yield


def pace(meter: Meter) -> str:
    """Return rate and remaining time in words, as far as known."""
    if not meter.rate:
        return ""
    remaining_s = meter.remaining_s or 0.0
    left = f", {_time_left(remaining_s)} left" if remaining_s else ""
    return f"{meter.rate:,.0f}/s{left}"


def shorten_path(path: str) -> str:
    """Return the last 48 characters of `path`, which say more than its start."""
    return path if len(path) <= _SHOWN_PATH_CHARS else "…" + path[1 - _SHOWN_PATH_CHARS :]


def _time_left(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


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
