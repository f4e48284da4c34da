"""Java imports: a class is in the file that its package and name determine."""

import re

from search.context.imports.candidate_paths import Import, folder_of, folders_above, resolve_path

_IMPORT = re.compile(r"^[ \t]*import[ \t]+(static[ \t]+)?([\w.]+)[ \t]*;", re.M)
_PACKAGE = re.compile(r"^[ \t]*package[ \t]+([\w.]+)[ \t]*;", re.M)

# The source sets next to `src/main/java`, as in the source layout of Maven and Gradle.
_SOURCE_SETS = ("main", "test", "testFixtures")
_SOURCE_SET = re.compile(r"^((?:.*/)?src/)[^/]+(/[^/]+)$")


def java_imports(text: str, path: str) -> list[Import]:
    """Return the classes that `text` imports by name; imports of a whole package (`.*`) are ignored.

    Candidates are below the source root given by the file's own package, the sibling source sets (main, test,
    testFixtures), each folder above the file, then the source roots of other modules.
    """
    roots = _roots(text, path)
    found = []
    for is_static, name in _IMPORT.findall(text):
        parts = name.split(".")
        of_class = parts[:-1] if is_static else parts
        file = "/".join(of_class) + ".java"
        paths = (resolve_path(root, file) for root in roots)
        names = tuple(dict.fromkeys([of_class[-1], parts[-1]])) if of_class else ()
        listed = tuple(dict.fromkeys(each for each in paths if each))
        found.append(Import(paths=listed, below_roots=(file,), names=names))
    return [each for each in found if each.paths]


def _roots(text: str, path: str) -> list[str]:
    package = _PACKAGE.search(text)
    below = "/" + package[1].replace(".", "/") if package else ""
    folder = f"/{folder_of(path)}"
    own = [folder.removesuffix(below).strip("/")] if below and folder.endswith(below) else []
    siblings = [_SOURCE_SET.sub(rf"\1{name}\2", root) for root in own for name in _SOURCE_SETS]
    return list(dict.fromkeys([*own, *siblings, *folders_above(path)]))
