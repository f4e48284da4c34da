"""Bodies of multipart/form-data: valid and malformed ones."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from tests.drills.fuzzing.texts import Literal, adversarial_text

BOUNDARY: Final = "boundary0"
_MOST_PARTS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file in a form."""

    field: str = "file"
    name: str = "fresh.md"
    content: bytes = b"# Fresh"
    #: The header lines of its part; none: those of a browser.
    head: bytes = b""

    def encode(self) -> bytes:
        """Return its part."""
        disposition = f'Content-Disposition: form-data; name="{self.field}"; filename="{self.name}"'
        head = self.head or _bytes(disposition) + b"\r\nContent-Type: text/markdown"
        return b"\r\n".join([head, b"", self.content])


def encode_parts(fields: Mapping[str, Any], files: list[File], boundary: str = BOUNDARY) -> bytes:
    """Return a body of fields and files."""
    line = b"--" + _bytes(boundary)
    parts = [*(part for name, value in fields.items() for part in _parts_of(name, value))]
    parts += [file.encode() for file in files]
    return b"\r\n".join([*(line + b"\r\n" + part for part in parts), line + b"--", b""])


def _parts_of(name: str, values: Any) -> Iterator[bytes]:
    for value in values if isinstance(values, list) else [values]:
        shown = value.text if isinstance(value, Literal) else value
        text = shown if isinstance(shown, str) else json.dumps(shown, default=str)
        place = f'Content-Disposition: form-data; name="{name.replace(chr(34), "")}"'
        yield b"\r\n".join([_bytes(place), b"", _bytes(text)])


def spoil_file(source: Random, file: File, size: int) -> tuple[str, list[File]]:
    """Return what was replaced, and one or many files of which a part is adversarial."""
    kind, text = adversarial_text(source, size)
    form_data = 'Content-Disposition: form-data; name="file"'
    heads = {
        "disposition": f"{form_data}; filename={text}",
        "extended name": f"{form_data}; filename*=utf-8''{text}",
        "name in another charset": f"{form_data}; filename*={text}''a",
        "unclosed name": f'{form_data}; filename="{text}',
        "content type": f'{form_data}; filename="a.md"\r\nContent-Type: {text}',
        "charset": f'{form_data}; filename="a.md"\r\nContent-Type: text/plain; charset={text}',
        "transfer encoding": f'{form_data}; filename="a.md"\r\nContent-Transfer-Encoding: {text}',
        "long header": f'{form_data}; filename="a.md"\r\nX-{text}: {text}',
        "no header": text,
    }
    base64 = _bytes(f'{form_data}; filename="a.md"\r\nContent-Transfer-Encoding: base64')
    many = min(_MOST_PARTS, size // 100 + 1)
    files = {
        "name": [replace(file, name=text.replace('"', "%22"))],
        "content": [replace(file, content=_bytes(text))],
        "field": [replace(file, field=text.replace('"', ""))],
        "encoded content": [replace(file, head=base64, content=_bytes(text))],
        "boundaries in content": [replace(file, content=f"\r\n--{BOUNDARY[:-1]}".encode() * (size // 12))],
        "many files": [replace(file, name=f"{number}.md", content=b"a") for number in range(many)],
        **{place: [replace(file, head=_bytes(head))] for place, head in heads.items()},
    }
    place = source.choice([*files, "name", "content"])
    return f"file's {place}: {kind}", files[place]


def spoil_frame(source: Random, body: bytes, size: int) -> tuple[str, str, bytes]:
    """Return what was replaced, the boundary that the headers declare, and the body."""
    kind, text = adversarial_text(source, min(size, 30_000))
    line = f"--{BOUNDARY}\r\n".encode()
    frames = {
        "boundary": (text.replace("\r", " ").replace("\n", " "), body),
        "quoted boundary": (f'"{BOUNDARY}', body),
        "text before": (BOUNDARY, _bytes(text) + b"\r\n" + body),
        "text behind": (BOUNDARY, body + _bytes(text)),
        "no end": (BOUNDARY, body[: -len(BOUNDARY) - 6]),
        "boundaries alone": (BOUNDARY, line * (size // len(line)) + body),
        "blank parts": (BOUNDARY, (line + b"\r\n\r\n") * (size // (len(line) + 4)) + body),
        "no body": (BOUNDARY, b""),
    }
    place = source.choice(list(frames))
    return f"{place}: {kind}", *frames[place]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
