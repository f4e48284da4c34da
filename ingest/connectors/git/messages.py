"""Messages for errors of git. Its own output may contain text made up by the remote host."""

import re
from collections.abc import Sequence
from typing import Final

from ingest.connectors.redaction import redact

_KNOWN: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), sentence)
    for pattern, sentence in (
        (r"no space left on device|disk quota", "The disk is full; make room and sync again."),
        (
            r"out of memory|alloc failed|mmap failed",
            "The repository needs more memory than git may use here.",
        ),
        (
            r"could not read (username|password)|authentication failed|returned error: 40[13]",
            "The repository's host asks for credentials, or refuses those that it got.",
        ),
        (
            r"permission denied \(|too many authentication failures",
            "The repository's host refuses the private key, or asks for one.",
        ),
        (
            r"host key verification failed|remote host identification has changed",
            "The repository's host shows another key than before. If it was replaced, the operator"
            " removes the source's known_hosts file in the data directory.",
        ),
        (
            r"couldn't find remote ref|not our ref|no such ref",
            "The repository no longer has this branch, tag or commit; sync again.",
        ),
        (
            r"redirect|returned error: 30\d",
            "The repository has moved; redirects are not followed, so give its new address.",
        ),
        (
            r"repository .*not found|returned error: 404|not appear to be a git|not valid: is this a git",
            "There is no repository at this address, or the credentials may not see it.",
        ),
        (r"protocol error|bad line length", "The repository's host does not speak git's protocol."),
        (r"dumb http", "The repository's host speaks the old dumb HTTP protocol, which can't be read."),
        (r"certificate|ssl", "The repository's host shows a certificate that can't be trusted."),
        (r"transport .* not allowed", "This kind of address is not allowed."),
        (
            r"could not resolve|couldn't connect|failed to connect|connection (refused|closed|reset)"
            r"|connection timed out|unreachable|no route to host|operation timed out",
            "The repository's host can't be reached.",
        ),
        (
            r"operation too slow|early eof|hung up|rpc failed",
            "The repository's host broke off, or is too slow.",
        ),
        (r"dubious ownership", "The repository belongs to another user of this machine."),
    )
)
_LONGEST = 200


def explain(stderr: str, status: int, secrets: Sequence[str]) -> str:
    """Return one sentence for the standard error of a git command that ended with `status`."""
    for pattern, sentence in _KNOWN:
        if pattern.search(stderr):
            return sentence
    lines = [line for line in stderr.splitlines() if line.startswith(("fatal:", "error:"))]
    line = redact(lines[-1], secrets) if lines else ""
    shown = "".join(filter(str.isprintable, line))[:_LONGEST]
    return f"git ended with status {status}. {shown}".strip()


def suggests_damaged_copy(sentence: str) -> bool:
    """Return whether the local copy may be damaged, so that a new one is worth a try."""
    return sentence.startswith("git ended with status")
