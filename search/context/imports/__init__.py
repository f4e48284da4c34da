"""Imports of a source file, as candidate paths of the imported files. Simple rules, no build system."""

from collections.abc import Callable, Mapping
from typing import Final

from search.context.imports.candidate_paths import SOURCE_ROOT, Import
from search.context.imports.go import go_imports
from search.context.imports.java import java_imports
from search.context.imports.javascript import javascript_imports
from search.context.imports.python import python_imports
from search.context.imports.rust import rust_imports

__all__ = ("IMPORT_LANGUAGES", "MAX_IMPORTS", "SOURCE_ROOT", "Import", "imports_of")

#: Most imports of one file; further ones are ignored.
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
#: Names, as in chunks, of the languages whose imports are followed.
IMPORT_LANGUAGES: Final = tuple(_READERS)


def parse_imports(text: str, path: str, language: str) -> list[Import]:
    """Parse the imports in `text`, a part of the file at `path`, in order; none in unsupported languages."""
    read = _READERS.get(language)
    return [] if read is None else read(text, path)[:MAX_IMPORTS]
