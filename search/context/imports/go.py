"""Go: packages are folders, and a module's own begin with the path of its repository."""

import re

from search.context.imports.candidate_paths import Import, folders_above, inside

_BLOCK = re.compile(r"^import[ \t]*\(([^)]*)\)", re.M)
_SINGLE = re.compile(r"""^import[ \t]+((?:[\w.]+[ \t]+)?"[^"\n]+")""", re.M)
_SPEC = re.compile(r"""(?:([\w.]+)[ \t]+)?"([^"\n]+)\"""")
_VERSION = re.compile(r"v[0-9]+")
# A repository on these hosts is host/owner/name; elsewhere its depth isn't known.
_HOSTS = {"github.com": 3, "gitlab.com": 3, "bitbucket.org": 3, "codeberg.org": 3}


def go_imports(text: str, path: str) -> list[Import]:
    """Return the packages that `text` imports, and the exported names it uses of each.

    The standard library is left out: it has no dot before its first slash. A package is looked for from
    each folder above the file.
    """
    listed = "\n".join([block[1] for block in _BLOCK.finditer(text)] + _SINGLE.findall(text))
    found = []
    for alias, package in _SPEC.findall(listed):
        folders = _folders(path, package)
        if folders:
            found.append(Import(folders=folders, names=_names_used(text, alias or _base(package))))
    return found


def _folders(path: str, package: str) -> tuple[str, ...]:
    host, *rest = package.split("/")
    if "." not in host:
        return ()
    parts = [host, *rest]
    depths = [_HOSTS[host]] if host in _HOSTS else range(1, len(parts))
    tails = ["/".join(_unversioned(parts[depth:])) for depth in depths]
    candidates = (inside(folder, tail) for tail in tails if tail for folder in folders_above(path))
    return tuple(dict.fromkeys(candidate for candidate in candidates if candidate))


def _unversioned(parts: list[str]) -> list[str]:
    """Return the folders below a module; its major version, as in `module/v2/pkg`, is no folder."""
    return parts[1:] if parts and _VERSION.fullmatch(parts[0]) else parts


def _base(package: str) -> str:
    parts = _unversioned(package.split("/")[::-1])
    return parts[0] if parts else ""


def _names_used(text: str, package: str) -> tuple[str, ...]:
    used = re.findall(rf"\b{re.escape(package)}\.([A-Z]\w*)", text) if package else []
    return tuple(dict.fromkeys(used))
