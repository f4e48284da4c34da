"""The time limit of what one request searches."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.conf import settings

from search.retrieval.deadline import limit_time

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


def limited_search(answer: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
    """Return a function that limits all searches of `answer` to KEBAB_SEARCH_LIMIT_MS together."""

    @wraps(answer)
    def answer_in_time(*given: _Given.args, **options: _Given.kwargs) -> _Answer:
        with limit_time(settings.KEBAB_SEARCH_LIMIT_MS / 1000):
            return answer(*given, **options)

    return answer_in_time
