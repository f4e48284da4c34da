"""Java: a class is the file that its package and name say."""

import re

from search.context.imports.places import Import, folder_of, folders_above, inside

_IMPORT = re.compile(r"^[ \t]*import[ \t]+(static[ \t]+)?([\w.]+)[ \t]*;", re.M)
_PACKAGE = re.compile(r"^[ \t]*package[ \t]+([\w.]+)[ \t]*;", re.M)


def java_imports(text: str, path: str) -> list[Import]:
    """Give the classes that `text` imports by name; a whole package (`.*`) is left alone.

    A class is looked for from the root that the file's own package gives, in the main sources when the file
    is a test, then from each folder above the file.
    """
    roots = _roots(text, path)
    found = []
    for is_static, name in _IMPORT.findall(text):
        parts = name.split(".")
        of_class = parts[:-1] if is_static else parts
        paths = (inside(root, "/".join(of_class) + ".java") for root in roots)
        names = tuple(dict.fromkeys([of_class[-1], parts[-1]])) if of_class else ()
        found.append(Import(paths=tuple(dict.fromkeys(each for each in paths if each)), names=names))
    return [each for each in found if each.paths]


def _roots(text: str, path: str) -> list[str]:
    package = _PACKAGE.search(text)
    below = "/" + package[1].replace(".", "/") if package else ""
    folder = f"/{folder_of(path)}"
    own = [folder.removesuffix(below).strip("/")] if below and folder.endswith(below) else []
    main = [root.replace("src/test/", "src/main/") for root in own if "src/test/" in root]
    return [*own, *main, *folders_above(path)]
