"""Subtitles and transcripts, one line per cue with its time in the recording."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.types import Block, FileType, LineSpan, Outline, OutlineDraft, TimeSpan
from search.documents.subtitles import Cue, read_cues

#: silence that ends a paragraph
PAUSE_MS = 2_000
#: silence after which another subject begins; no chunk crosses it
LONG_PAUSE_MS = 15_000
SENTENCE_END = re.compile(r"[.!?…。！？][\"'»”’)\]]*$")
NAMED_LINES = 5


def parse_transcript(content: bytes, file: FileType) -> Outline:
    """Return the cues as lines, one paragraph per speaker and run without a pause.

    Raises:
        NoCues: the times are missing or broken; the file is to be parsed as text.
    """
    transcript = read_cues(split_lines(decode(content)))
    script = _Script()
    for cue in transcript.cues:
        script.add(cue)
    script.end_paragraph()
    return script.outline(title=transcript.title or None, warnings=_warnings(transcript.broken_lines))


def _warnings(broken_lines: Sequence[int]) -> tuple[str, ...]:
    if not broken_lines:
        return ()
    named = ", ".join(str(line) for line in broken_lines[:NAMED_LINES])
    more = f" and {len(broken_lines) - NAMED_LINES} more" if len(broken_lines) > NAMED_LINES else ""
    text = f"the times in line {named}{more} could not be read; these cues are cited between their neighbours"
    return (text,)


@dataclass(slots=True, kw_only=True)
class _Script(OutlineDraft):
    """The lines so far, and the open paragraph."""

    #: first line of the open paragraph
    start: int = 1
    breaks: list[int] = field(default_factory=list)
    previous: Cue | None = None

    def add(self, cue: Cue) -> None:
        begins = self._begins_paragraph(cue)
        if begins:
            self.end_paragraph()
            if self.previous is not None and cue.start_ms - self.previous.end_ms >= LONG_PAUSE_MS:
                self.walls.append(self.start)
        elif SENTENCE_END.search(self.lines[-1]):
            self.breaks.append(len(self.lines) + 1)
        self.lines.append(f"{cue.speaker}: {cue.text}" if begins and cue.speaker else cue.text)
        self.origins.append(TimeSpan(cue.start_ms, cue.end_ms))
        self.previous = cue

    def end_paragraph(self) -> None:
        """End the open paragraph, if there is one, with a blank line."""
        if not self.lines or len(self.lines) < self.start:
            return
        span = LineSpan(self.start, len(self.lines))
        self.blocks.append(Block(kind="paragraph", span=span, breaks=tuple(self.breaks)))
        self.lines.append("")
        self.origins.append(self.origins[-1])
        self.start, self.breaks = len(self.lines) + 1, []

    def _begins_paragraph(self, cue: Cue) -> bool:
        if self.previous is None:
            return True
        is_pause = cue.start_ms - self.previous.end_ms >= PAUSE_MS
        return is_pause or cue.speaker != self.previous.speaker
