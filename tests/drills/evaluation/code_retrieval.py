"""Files retrieved for a question on a code base within a budget: by code retrieval, by search, by ripgrep."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from django.conf import settings
from mcp import Client, StdioServerParameters

from kebab.identity.models import Workspace
from kebab.identity.reader import OPERATOR
from search.context import CODE_BUDGET, CodeRequest, ResponseMode, retrieve_code
from search.context.budget import text_counter
from search.engine.search import search
from search.models import Chunk
from search.retrieval.query.channels import build_channels
from search.retrieval.query.stopwords import STOP_WORDS
from search.retrieval.types import SearchQuery
from tests.drills.evaluation.code_questions import CodeQuestion

#: Returns the files retrieved for a question, in order, each once.
Way = Callable[[CodeQuestion], Sequence[str]]

BUDGET = CODE_BUDGET.total
_HITS = 200
# Matching lines shown per file, and context lines around each.
_MATCHES, _AROUND = "10", "2"
# Heading of each text in a pack.
_CITED = re.compile(r"^### (.+)#L[0-9]+(?:-L[0-9]+)? \(", re.MULTILINE)


def by_pack(workspace: Workspace, mode: ResponseMode = ResponseMode.TEXT) -> Way:
    """Return a way that retrieves the files with text in the pack."""

    def ask(question: CodeQuestion) -> list[str]:
        request = CodeRequest(
            information_request=question.question, technical_terms=question.terms, response_mode=mode
        )
        pack = retrieve_code(workspace, OPERATOR, request)
        outlined = [] if pack.overview is None else [file.doc_path for file in pack.overview.files]
        return list(dict.fromkeys([*outlined, *(file.doc_path for file in pack.files)]))

    return ask


@contextmanager
def by_tool(workspace: Workspace) -> Iterator[Way]:
    """Yield the way of an agent: the tool `codebase-retrieval` of `kebab mcp`, within its budget."""
    process = StdioServerParameters(
        command=sys.executable,
        args=[str(settings.BASE_DIR / "manage.py"), "mcp", "--workspace", workspace.slug],
        env=dict(os.environ),
    )
    size_of_text, _ = text_counter(CODE_BUDGET.unit)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(process)) as client:

        def ask(question: CodeQuestion) -> list[str]:
            arguments = {
                "information_request": question.question,
                "technical_terms": list(question.terms),
                "max_tokens": BUDGET,
            }
            result = portal.call(client.call_tool, "codebase-retrieval", arguments)
            (content,) = result.content
            if result.is_error or size_of_text(content.text) > BUDGET:
                raise AssertionError(f"{question.question}: {content.text[:200]}")
            return list(dict.fromkeys(_CITED.findall(content.text)))

        yield ask


def by_search(workspace: Workspace) -> Way:
    """Return a way that takes the hits of a hybrid search, in order, while they fit into the budget."""

    def ask(question: CodeQuestion) -> list[str]:
        channels = build_channels(question.question, question.terms)
        query = SearchQuery(text=question.question, channels=channels, k=_HITS)
        hits = search(workspace, query, reader=OPERATOR, with_snippets=False).hits
        texts = dict(
            Chunk.objects.in_workspace(workspace)
            .filter(chunk_id__in=[hit.chunk_id for hit in hits])
            .values_list("chunk_id", "text")
        )
        by_id = {chunk_id.hex: text for chunk_id, text in texts.items()}
        return _within_budget((hit.doc_path, f"{hit.citation.uri}\n{by_id[hit.chunk_id]}") for hit in hits)

    return ask


def by_ripgrep(root: Path) -> Way:
    """Return a way that takes files by ripgrep, while their first matching lines fit into the budget.

    Files with more of the terms come first, then those with more matches. Without terms, the question's words
    are searched for.
    """

    def ask(question: CodeQuestion) -> list[str]:
        patterns = [_pattern(term) for term in question.terms or _words(question.question)]
        have: Counter[str] = Counter()
        count: Counter[str] = Counter()
        for pattern in patterns:
            for line in _rg(root, "--count-matches", "-e", pattern):
                path, _, matches = line.rpartition(":")
                have[path] += 1
                count[path] += int(matches)
        ordered = sorted(have, key=lambda path: (-have[path], -count[path], path))
        flags = [flag for pattern in patterns for flag in ("-e", pattern)]
        return _within_budget(
            (path, "\n".join([path, *_rg(root, "-n", "-m", _MATCHES, "-C", _AROUND, *flags, "--", path)]))
            for path in ordered
        )

    return ask


def _pattern(term: str) -> str:
    """Return a pattern of the term's words in sequence, however joined: `move page` matches `move_page`."""
    return r"[\W_]?".join(re.escape(word) for word in term.split())


def _words(question: str) -> list[str]:
    words = re.findall(r"\w{3,}", question.lower())
    return [word for word in dict.fromkeys(words) if word not in STOP_WORDS["en"]]


def _rg(root: Path, *arguments: str) -> list[str]:
    command = ["rg", "--ignore-case", "--no-heading", "--sort", "path", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    return done.stdout.decode(errors="replace").splitlines()


def _within_budget(texts: Iterable[tuple[str, str]]) -> list[str]:
    size_of_text, _ = text_counter(CODE_BUDGET.unit)
    return list(dict.fromkeys(_fitting(texts, size_of_text)))


def _fitting(texts: Iterable[tuple[str, str]], size_of_text: Callable[[str], int]) -> Iterator[str]:
    left = BUDGET
    for path, text in texts:
        size = size_of_text(text)
        if size > left:
            return
        left -= size
        yield path
