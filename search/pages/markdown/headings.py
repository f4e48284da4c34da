"""Heading levels of a rendered document: below the page's own headings, without skipped levels."""

from collections import Counter
from collections.abc import Sequence

from markdown_it.token import Token

from search.pages.markdown.tokens import plain_text, slug_of

_DEEPEST = 6


def drop_title(tokens: Sequence[Token], title: str) -> list[Token]:
    """Return the tokens without a first heading that repeats the title, which the page has already."""
    first = next((index for index, token in enumerate(tokens) if token.type == "heading_open"), None)
    if first is None or not title or plain_text(tokens[first + 1]) != title:
        return list(tokens)
    is_first = all(token.type in ("fence", "html_block") for token in tokens[:first])
    return [*tokens[:first], *tokens[first + 3 :]] if is_first else list(tokens)


def lower_headings(tokens: Sequence[Token]) -> frozenset[str]:
    """Change the headings to h2 to h6, add name and original level (as a class), and return all names.

    Screen readers need headings without skipped levels: h1 and h3 become h2 and h3.
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
    """Return the unique name by which links address a heading; `names` counts the names so far."""
    slug = slug_of(heading)
    name = f"{slug}-{names[slug]}" if names[slug] else slug
    names[slug] += 1
    names[name] += name != slug
    return name
