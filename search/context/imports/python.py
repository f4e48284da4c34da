"""Python imports: `import a.b`, `from a.b import c`, `from ..a import b`."""

import re

from search.context.imports.candidate_paths import Import, folder_of, folders_above, resolve_path

_FROM = re.compile(r"^[ \t]*from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import[ \t]+(\([^()]*\)|[^\n;()]+)", re.M)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w.]+[^\n;#]*)", re.M)
_COMMENT = re.compile(r"#[^\n]*")
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_NAME = re.compile(r"[^\W\d]\w*")


def python_imports(text: str, path: str) -> list[Import]:
    """Return the modules that `text` imports, and the names imported from each.

    Candidates of an absolute import are below each folder above the file and `src` in it, nearest first. In
    `from a import b`, `b` may be a module of its own, so it is returned as a second import.
    """
    unbroken = text.replace("\\\n", " ")
    found: list[tuple[int, list[Import]]] = []
    for match in _FROM.finditer(unbroken):
        dots, module, names = match.groups()
        found.append((match.start(), _from(path, dots, module, _names(names))))
    for match in _IMPORT.finditer(unbroken):
        modules = [_MODULE.match(part.strip()) for part in match[1].split(",")]
        imported = [Import(paths=_files(path, "", module[0])) for module in modules if module is not None]
        found.append((match.start(), imported))
    found.sort(key=lambda each: each[0])
    return [each for _, imported in found for each in imported if each.paths]


def _names(listed: str) -> list[str]:
    parts = _COMMENT.sub("", listed).strip("()").split(",")
    matches = [_NAME.match(part.strip()) for part in parts]
    return [match[0] for match in matches if match is not None]


def _from(path: str, dots: str, module: str, names: list[str]) -> list[Import]:
    whole = Import(paths=_files(path, dots, module), names=tuple(names))
    below = [".".join(part for part in (module, name) if part) for name in names]
    return [whole, *(Import(paths=_files(path, dots, each)) for each in below)]


def _files(path: str, dots: str, module: str) -> tuple[str, ...]:
    below = module.replace(".", "/")
    if dots:
        above = "../" * (len(dots) - 1)
        starts = [resolve_path(folder_of(path), above + below) if above + below else folder_of(path)]
    else:
        roots = [root for folder in folders_above(path) for root in (folder, resolve_path(folder, "src"))]
        starts = [resolve_path(root, below) for root in roots] if below else []
    return tuple(file for start in starts if start for file in (f"{start}.py", f"{start}/__init__.py"))
