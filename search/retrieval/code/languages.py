"""Programming languages by the names that chunks and people have for them."""

from collections.abc import Iterable
from typing import Final

# A file's chunks have the first name; a fence in prose has whatever its author wrote.
_SAME: Final = (
    ("bash", "sh", "shell", "zsh", "console"),
    ("cpp", "c++", "cc", "cxx", "hpp"),
    ("csharp", "c#", "cs"),
    ("fsharp", "f#", "fs"),
    ("go", "golang"),
    ("javascript", "js", "jsx", "mjs", "cjs"),
    ("kotlin", "kt", "kts"),
    ("objectivec", "objective-c", "objc"),
    ("perl", "pl"),
    ("powershell", "ps1", "pwsh"),
    ("python", "py", "py3", "python3", "pyi"),
    ("ruby", "rb"),
    ("rust", "rs"),
    ("typescript", "ts", "tsx", "mts", "cts"),
    ("yaml", "yml"),
)
_NAMES: Final = {name: names for names in _SAME for name in names}


def code_language_names(languages: Iterable[str]) -> tuple[str, ...]:
    """Return all names of these languages, each once: `py` is Python, Python is `py`."""
    lowered = (language.strip().lower() for language in languages)
    return tuple(dict.fromkeys(name for each in lowered for name in _NAMES.get(each, (each,))))
