"""Folders of generated documents: Markdown of all sizes, some code, plain text and duplicates."""

import random
import re
from collections import Counter
from pathlib import Path

_SYLLABLES = ("ka", "lo", "mi", "ren", "tu", "sha", "vel", "dor", "pi", "nu", "gra", "bes", "ti", "om", "fal")
_DUPLICATE_EVERY = 41
_CODE_EVERY = 13
_TEXT_EVERY = 29
_MARKER = re.compile(r"marker\d{6}")


class Corpus:
    """Files of several folder sources, by path below `root`, and uploads, which are in no folder."""

    def __init__(self, root: Path, *, seed: int, documents: int, folders: int = 4) -> None:
        self.root = root
        self._rng = random.Random(f"corpus {seed}")
        words = ("".join(self._rng.choices(_SYLLABLES, k=self._rng.randint(2, 4))) for _ in range(3_000))
        self._words = sorted(set(words))
        self.folders = [root / f"folder-{number}" for number in range(folders)]
        self.files: dict[str, str] = {}
        self.uploads: dict[str, str] = {}
        self._rewrites = 0
        uploads = documents // 10
        for number in range(documents - uploads):
            path = self._path(number)
            self.files[path] = self._text(number, path)
        for number in range(documents - uploads, documents):
            self.uploads[f"handed-in/{number:05}.md"] = self._markdown(number)

    def write(self) -> None:
        """Write all files, and create empty folders too."""
        for folder in self.folders:
            folder.mkdir(parents=True, exist_ok=True)
        for path, text in self.files.items():
            self._write(path, text)

    def edit(self) -> str:
        """Change, delete, rename and add files, on disk too, and return a description of the edits."""
        some = max(1, len(self.files) // 50)
        chosen = self._rng.sample(sorted(self.files), 4 * some)
        changed, deleted, renamed = chosen[: 2 * some], chosen[2 * some : 3 * some], chosen[3 * some :]
        for number, path in enumerate(changed):
            self._put_file(path, self._edit_text(self.files[path], number))
        for path in deleted:
            self._delete_file(path)
        for path in renamed:
            folder, _, name = path.rpartition("/")
            self._put_file(f"{folder}/renamed-{name}", self._delete_file(path))
        for number in range(some):
            self._put_file(f"folder-0/added/{number:05}.md", self._markdown(100_000 + number))
        return f"{len(changed)} changed, {len(deleted)} deleted, {len(renamed)} renamed, {some} added"

    @property
    def steady(self) -> dict[str, str]:
        """Return files that `rewrite` leaves alone, each with a word that occurs in no other file."""
        chosen = (path for path in sorted(self.files) if self._is_steady(path))
        words = {path: _MARKER.search(self.files[path]) for path in chosen}
        counts = Counter(word[0] for text in self.files.values() for word in _MARKER.finditer(text))
        alone = {path: word[0] for path, word in words.items() if word is not None and counts[word[0]] == 1}
        return dict(list(alone.items())[:8])

    def rewrite(self) -> None:
        """Change half of the files, delete and add some, on disk too."""
        open_ = [path for path in sorted(self.files) if not self._is_steady(path)]
        chosen = self._rng.sample(open_, len(self.files) // 2)
        for path in chosen[10:]:
            self._rewrites += 1
            self._put_file(path, self._edit_text(self.files[path], self._rewrites))
        for path in chosen[:10]:
            self._delete_file(path)
            self._rewrites += 1
            self._put_file(f"folder-0/added/{self._rewrites:05}.md", self._markdown(300_000 + self._rewrites))

    def _is_steady(self, path: str) -> bool:
        return path.endswith("0.md") and "/part-" in path

    def edit_uploads(self) -> dict[str, str]:
        """Change some of the uploads, and return their new texts."""
        chosen = self._rng.sample(sorted(self.uploads), len(self.uploads) // 5)
        edited = {path: self._edit_text(self.uploads[path], number) for number, path in enumerate(chosen)}
        self.uploads.update(edited)
        return edited

    def _path(self, number: int) -> str:
        folder = f"folder-{number % len(self.folders)}/part-{number // 100}"
        if number % _CODE_EVERY == 5:
            return f"{folder}/module_{number:05}.py"
        return f"{folder}/note-{number:05}.{'txt' if number % _TEXT_EVERY == 7 else 'md'}"

    def _text(self, number: int, path: str) -> str:
        earlier = [old for old in self.files if old.endswith(path[-3:])][:20]
        if number % _DUPLICATE_EVERY == 40 and earlier:
            return self.files[self._rng.choice(earlier)]
        return self._code(number) if path.endswith(".py") else self._markdown(number)

    def _markdown(self, number: int) -> str:
        parts = [f"# {self._phrase(4).title()}\n\nDocument marker{number:06}.\n"]
        for _ in range(min(30, int(self._rng.lognormvariate(1.0, 0.8)) + 1)):
            parts.append(f"{'#' * self._rng.randint(2, 4)} {self._phrase(3).title()}\n")
            parts += [f"{self._paragraph()}\n" for _ in range(self._rng.randint(1, 4))]
            if self._rng.random() < 0.2:
                parts.append(f"```python\n{self._function()}```\n")
        return "\n".join(parts)

    def _code(self, number: int) -> str:
        functions = [self._function() for _ in range(self._rng.randint(1, 8))]
        return f'"""Module marker{number:06}: {self._phrase(5)}."""\n\n\n' + "\n\n".join(functions)

    def _function(self) -> str:
        lines = [
            f"    {self._phrase(1)} = {self._rng.randint(0, 99)}" for _ in range(self._rng.randint(2, 9))
        ]
        return "\n".join([f"def {self._phrase(1)}():", f'    """{self._phrase(6)}."""', *lines, ""])

    def _edit_text(self, text: str, number: int) -> str:
        paragraph = f"Edited marker{200_000 + number:06}. {self._paragraph()}"
        if number % 2 and "\n## " in text:  # a renamed heading changes the breadcrumb of unchanged text
            return text.replace("\n## ", "\n## Renamed ", 1)
        head, _, rest = text.partition("\n\n")  # an inserted paragraph shifts later spans
        return f"{head}\n\n{paragraph}\n\n{rest}"

    def _paragraph(self) -> str:
        return " ".join(
            f"{self._phrase(self._rng.randint(5, 14)).capitalize()}." for _ in range(self._rng.randint(2, 7))
        )

    def _phrase(self, words: int) -> str:
        return " ".join(self._rng.choices(self._words, k=words))

    def _put_file(self, path: str, text: str) -> None:
        self.files[path] = text
        self._write(path, text)

    def _delete_file(self, path: str) -> str:
        (self.root / path).unlink()
        return self.files.pop(path)

    def _write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
