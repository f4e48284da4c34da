"""JavaScript and TypeScript imports by a relative path."""

import re

from search.context.imports.candidate_paths import Import, folder_of, resolve_path

_SPECIFIER = r"""['"](\.{1,2}(?:/[^'"\n]*)?)['"]"""
# The length between `import` and `from` is limited, so that matching stays linear.
_STATEMENT = re.compile(
    rf"\b(?:import|export)\b([^'\";=()]{{1,2000}}?)\bfrom\s*{_SPECIFIER}"
    rf"|\b(?:const|let|var)\s([^'\";=()]{{1,2000}}?)=\s*(?:await\s+)?(?:require|import)\s*\(\s*{_SPECIFIER}"
    rf"|\b(?:require|import)\s*\(?\s*{_SPECIFIER}"
)
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_NOT_NAMES = {"type", "typeof", "as", "default"}
_ENDINGS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".d.ts", ".vue", ".svelte")
# TypeScript imports name the compiled file.
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}


def javascript_imports(text: str, path: str) -> list[Import]:
    """Return the files that `text` imports or re-exports from `./` or `../`, and the imported names."""
    found = []
    for match in _STATEMENT.finditer(text):
        bound, specifier = match[1] or match[3] or "", match[2] or match[4] or match[5]
        names = tuple(name for name in dict.fromkeys(_NAME.findall(bound)) if name not in _NOT_NAMES)
        paths = _files(resolve_path(folder_of(path), specifier))
        if paths:
            found.append(Import(paths=paths, names=names))
    return found


def _files(target: str) -> tuple[str, ...]:
    if not target:
        return ()
    stem, dot, ending = target.rpartition(".")
    sources = tuple(stem + source for source in _COMPILED.get(dot + ending, ()))
    whole = tuple(target + each for each in _ENDINGS)
    return (target, *sources, *whole, *(f"{target}/index{each}" for each in _ENDINGS))
