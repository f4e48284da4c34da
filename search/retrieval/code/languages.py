"""Names and aliases of programming languages."""

from collections.abc import Iterable
from typing import Final

# Chunks of source files have the first name; a code fence in prose has any.
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
    """Return all names of these languages, each once: `py` yields `python`, and vice versa."""
    lowered = (language.strip().lower() for language in languages)
    return tuple(dict.fromkeys(name for each in lowered for name in _NAMES.get(each, (each,))))
