"""Prometheus' text format, https://prometheus.io/docs/instrumenting/exposition_formats/ (version 0.0.4)."""

from collections.abc import Iterable, Mapping, Sequence

from kebab.observability.metrics.files import Family

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

LINES = list[str]

_VALUE = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_HELP = str.maketrans({"\\": r"\\", "\n": r"\n"})


class Page:
    """The exposition, grouped by family, as the format requires."""

    def __init__(self, declared: Iterable[Family] = ()) -> None:
        self._families = {family.name: family for family in declared}
        self._lines: dict[str, LINES] = {}

    def add(self, family: Family, lines: Iterable[str]) -> None:
        """Add lines of a family."""
        self._families.setdefault(family.name, family)
        self._lines.setdefault(family.name, []).extend(lines)

    def add_sample(self, family: Family, values: Sequence[str], amount: float) -> None:
        """Add one line of a family that is no histogram."""
        labels = dict(zip(family.labels, values, strict=True))
        self.add(family, [f"{family.name}{_format_labels(labels)} {_format_number(amount)}"])

    def text(self) -> bytes:
        """Return the exposition, with families in the order of their names."""
        return (
            "\n".join(line for name in sorted(self._families) for line in self._family_lines(name)).encode()
            + b"\n"
        )

    def _family_lines(self, name: str) -> Iterable[str]:
        family = self._families[name]
        yield f"# HELP {name} {family.help.translate(_HELP)}"
        yield f"# TYPE {name} {family.kind}"
        yield from self._lines.get(name, ())


def sample_names(family: Family, labels: Mapping[str, str]) -> list[str]:
    """Return the names of a series' samples with labels: for a histogram its buckets, sum and count."""
    if family.kind != "histogram":
        return [f"{family.name}{_format_labels(labels)}"]
    bounds = [*map(_format_number, family.bounds), "+Inf"]
    buckets = [f"{family.name}_bucket{_format_labels({**labels, 'le': bound})}" for bound in bounds]
    return [
        *buckets,
        f"{family.name}_sum{_format_labels(labels)}",
        f"{family.name}_count{_format_labels(labels)}",
    ]


def write_series(family: Family, names: Sequence[str], numbers: Sequence[float], lines: LINES) -> None:
    """Append a series to `lines`; its numbers are laid out as in `Family.n_slots`, buckets not cumulative."""
    if family.kind != "histogram":
        lines.append(f"{names[0]} {_format_number(numbers[0])}")
        return
    total = 0.0
    for name, amount in zip(names, numbers[:-1], strict=False):
        total += amount
        lines.append(f"{name} {_format_number(total)}")
    lines.append(f"{names[-2]} {_format_number(numbers[-1])}")
    lines.append(f"{names[-1]} {_format_number(total)}")


def _format_labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{value.translate(_VALUE)}"' for name, value in labels.items()) + "}"


def _format_number(amount: float) -> str:
    return str(int(amount)) if float(amount).is_integer() else repr(float(amount))
