"""Go imports: packages are folders, and a module's own packages begin with the path of its repository."""

import re

from search.context.imports.candidate_paths import Import, folders_above, resolve_path

_BLOCK = re.compile(r"^import[ \t]*\(([^)]*)\)", re.M)
_SINGLE = re.compile(r"""^import[ \t]+((?:[\w.]+[ \t]+)?"[^"\n]+")""", re.M)
_SPEC = re.compile(r"""(?:([\w.]+)[ \t]+)?"([^"\n]+)\"""")
_VERSION = re.compile(r"v[0-9]+")
# A repository on these hosts is host/owner/name; elsewhere its depth isn't known.
_HOSTS = {"github.com": 3, "gitlab.com": 3, "bitbucket.org": 3, "codeberg.org": 3}


def go_imports(text: str, path: str) -> list[Import]:
    """Return the packages that `text` imports, and the exported names it uses of each.

    The standard library is excluded: its packages have no dot before the first slash. Candidates are below
    each folder above the file.
    """
    listed = "\n".join([block[1] for block in _BLOCK.finditer(text)] + _SINGLE.findall(text))
    found = []
    for alias, package in _SPEC.findall(listed):
        folders = _folders(path, package)
        if folders:
            found.append(Import(folders=folders, names=_names_used(text, alias or _package_name(package))))
    return found


def _folders(path: str, package: str) -> tuple[str, ...]:
    host, *rest = package.split("/")
    if "." not in host:
        return ()
    parts = [host, *rest]
    depths = [_HOSTS[host]] if host in _HOSTS else range(1, len(parts))
    tails = ["/".join(_strip_version(parts[depth:])) for depth in depths]
    candidates = (resolve_path(folder, tail) for tail in tails if tail for folder in folders_above(path))
    return tuple(dict.fromkeys(candidate for candidate in candidates if candidate))


def _strip_version(parts: list[str]) -> list[str]:
    """Return the folders below a module, without its major version, which is no folder in `module/v2/pkg`."""
    return parts[1:] if parts and _VERSION.fullmatch(parts[0]) else parts


def _package_name(package: str) -> str:
    parts = _strip_version(package.split("/")[::-1])
    return parts[0] if parts else ""


def _names_used(text: str, package: str) -> tuple[str, ...]:
    used = re.findall(rf"\b{re.escape(package)}\.([A-Z]\w*)", text) if package else []
    return tuple(dict.fromkeys(used))
