"""Rust imports: modules of the same crate, by `mod` and `use`."""

import re

from search.context.imports.candidate_paths import Import, folder_of, folders_above, resolve_path

_MOD = re.compile(r"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;", re.M)
_USE = re.compile(r"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?use[ \t]+((?:crate|self|super)::[^;]{1,2000});", re.M)
_ROOTS = ("mod.rs", "lib.rs", "main.rs")
# Most nested braces of a `use`: `use a::{b::{c, d}}` has two.
_MAX_DEPTH = 4


def rust_imports(text: str, path: str) -> list[Import]:
    """Return the modules that `text` declares or uses from its own crate, and the imported names.

    The last parts of a used path may be items, not modules: the longest prefix that is a file wins, and the
    module at which the path starts comes last, as for `crate::Item`.
    """
    declared = [Import(paths=_files(_own_folder(path), [name])) for name in _MOD.findall(text)]
    used = [_resolve_use(path, parts) for tree in _USE.findall(text) for parts in _leaves(tree)]
    return [each for each in [*declared, *used] if each.paths]


def _resolve_use(path: str, parts: list[str]) -> Import:
    folders, below = _start(path, parts)
    lengths = range(len(below), 0, -1)
    paths = [file for folder in folders for length in lengths for file in _files(folder, below[:length])]
    paths += [file for folder in folders for file in _module_files(folder)]
    names = tuple(part for part in below[-1:] if part != "*")
    return Import(paths=tuple(dict.fromkeys(each for each in paths if each != path)), names=names)


def _start(path: str, parts: list[str]) -> tuple[list[str], list[str]]:
    """Return the candidate start folders of a used path, and the rest of the path below them."""
    first, *below = parts
    if first == "crate":
        return _crate_folders(path), below
    folder = _own_folder(path)
    while first == "super":
        folder = folder_of(folder)
        if not below or below[0] != "super":
            break
        first, *below = below
    return [folder], below


def _own_folder(path: str) -> str:
    """Return the folder of a file's child modules: its own for the names in `_ROOTS`, else its stem."""
    return folder_of(path) if path.rpartition("/")[2] in _ROOTS else path.removesuffix(".rs")


def _crate_folders(path: str) -> list[str]:
    """Return the candidate root folders of a file's crate: `src`, else (as for tests) any folder above it."""
    above = folders_above(path)
    return next(([folder] for folder in above if folder.rpartition("/")[2] == "src"), above)


def _module_files(folder: str) -> list[str]:
    """Return the candidate files of the module whose children are in `folder`."""
    own = [f"{folder}.rs"] if folder else []
    return [*own, *(resolve_path(folder, name) for name in _ROOTS)]


def _files(folder: str, modules: list[str]) -> tuple[str, ...]:
    target = resolve_path(folder, "/".join(modules))
    return (f"{target}.rs", f"{target}/mod.rs") if target else ()


def _leaves(tree: str, depth: int = 0) -> list[list[str]]:
    """Return the paths of a `use` tree: a::b and a::c::d for `a::{b, c::d as e}`."""
    head, brace, rest = tree.strip().partition("{")
    before = [part.strip() for part in head.split("::") if part.strip()]
    if not brace:
        path = head.partition(" as ")[0]
        return [[part.strip() for part in path.split("::") if part.strip()]] if before else []
    if depth == _MAX_DEPTH:
        return []
    inner = rest.rstrip().removesuffix("}")
    leaves = [leaf for part in _split(inner) for leaf in _leaves(part, depth + 1)]
    return [before + [part for part in leaf if part != "self"] for leaf in leaves]


def _split(inner: str) -> list[str]:
    """Split at the commas outside braces."""
    parts, level = [""], 0
    for char in inner:
        level += (char == "{") - (char == "}")
        if char == "," and level == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part for part in parts if part.strip()]
