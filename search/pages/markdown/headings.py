"""Headings of a rendered document stand below the page's own, in steps of one, whatever levels it uses."""

from collections import Counter
from collections.abc import Sequence

from markdown_it.token import Token

from search.pages.markdown.tokens import plain_text, slug_of

_DEEPEST = 6


def lower_headings(tokens: Sequence[Token]) -> frozenset[str]:
    """Make the headings h2 to h6, each with its name and its own level as a class; give all names.

    A page whose headings skip a level can't be walked by them: h1 and h3 become h2 and h3.
    """
    names: Counter[str] = Counter()
    above: list[int] = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            level = int(token.tag[1])
            while above and above[-1] >= level:
                above.pop()
            above.append(level)
            tag = f"h{min(len(above) + 1, _DEEPEST)}"
            token.tag = tokens[index + 2].tag = tag
            token.attrJoin("class", f"level-{level}")
            token.meta = {"name": heading_name(plain_text(tokens[index + 1]), names)}
    return frozenset(names)


def heading_name(heading: str, names: Counter[str]) -> str:
    """Return the name that links call a heading by, other than those before it; `names` keeps count."""
    slug = slug_of(heading)
    name = f"{slug}-{names[slug]}" if names[slug] else slug
    names[slug] += 1
    names[name] += name != slug
    return name
