"""What a source file imports, as paths at which the imported files may lie. Simple rules, no build system."""

from collections.abc import Callable, Mapping
from typing import Final

from search.context.imports.candidate_paths import SOURCE_ROOT, Import
from search.context.imports.go import go_imports
from search.context.imports.java import java_imports
from search.context.imports.javascript import javascript_imports
from search.context.imports.python import python_imports
from search.context.imports.rust import rust_imports

__all__ = ("IMPORT_LANGUAGES", "MAX_IMPORTS", "SOURCE_ROOT", "Import", "imports_of")

#: Of one file; what it imports beyond these is left alone.
MAX_IMPORTS: Final = 100

_READERS: Final[Mapping[str, Callable[[str, str], list[Import]]]] = {
    "python": python_imports,
    "javascript": javascript_imports,
    "typescript": javascript_imports,
    "vue": javascript_imports,
    "svelte": javascript_imports,
    "go": go_imports,
    "java": java_imports,
    "rust": rust_imports,
}
#: The languages whose imports are followed, as chunks name them.
IMPORT_LANGUAGES: Final = tuple(_READERS)


def imports_of(text: str, path: str, language: str) -> list[Import]:
    """Return the imports in `text`, which is of the file at `path`, in order; none in other languages."""
    read = _READERS.get(language)
    return [] if read is None else read(text, path)[:MAX_IMPORTS]
