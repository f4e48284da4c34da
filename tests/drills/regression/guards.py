"""Guards that compare measured figures with the budgets."""

from collections.abc import Iterator, Mapping

from tests.drills.regression.budgets import COSTS, FLOORS, GROWTH

_TABLE = "tests/drills/regression/budgets.py"


class Regression(AssertionError):
    """A figure beyond its budget; docs/evaluation/regression.md explains how to change a budget."""


def check_quality(figures: Mapping[str, float]) -> None:
    """Compare nDCG@10, by way or group, with its floor. Raises Regression."""
    below = [
        f"{name}: nDCG@10 is {figure:.3f}, at least {FLOORS[name]:.3f}"
        for name, figure in figures.items()
        if figure < FLOORS[name]
    ]
    _raise_for(below)


def check_costs(operation: str, figures: Mapping[str, float]) -> None:
    """Compare the costs of an operation with its budgets. Raises Regression."""
    _raise_for(
        [
            f"{operation}: {figures[name]:,.6g} {name}, at most {budget:,.6g}{_parts(name, figures)}"
            for name, budget in COSTS[operation].items()
            if name in figures and figures[name] > budget
        ]
    )


def check_growth(operation: str, small: Mapping[str, float], large: Mapping[str, float]) -> None:
    """Compare the costs in the large workspace with those in the small one. Raises Regression."""
    _raise_for(
        [
            f"{operation}: {large[name]:,.6g} {name}, at most {factor:g} times the {small[name]:,.6g}"
            " with a tenth of the chunks"
            for name, factor in GROWTH[operation].items()
            if large[name] > factor * small[name]
        ]
    )


def figure_lines(name: str, figures: Mapping[str, float]) -> Iterator[str]:
    """Yield a line for each figure that has a budget or floor: name, figure, budget."""
    limits = COSTS.get(name, FLOORS)
    for measure, figure in figures.items():
        if measure in limits:
            yield f"{name:<24} {measure:<22} {figure:>13,.6g} {limits[measure]:>13,.6g}"


def _parts(name: str, figures: Mapping[str, float]) -> str:
    """Return the parts of a figure, where they were counted."""
    whole = f"{name} of "
    parts = [
        f"{figure:,.6g} of {part.removeprefix(whole)}"
        for part, figure in figures.items()
        if part.startswith(whole)
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _raise_for(broken: list[str]) -> None:
    if broken:
        raise Regression("\n".join([*broken, f"See {_TABLE}."]))
