"""Grammar of Python."""

from ingest.parsers.syntax.grammar import Grammar, children_of


def _python_language() -> object:
    from tree_sitter_python import language

    return language()


PYTHON = Grammar(
    load=_python_language,
    query="""
    (class_definition) @class
    (function_definition) @function
    (decorated_definition) @wrapper
    (comment) @leading
    """
    + children_of("module", "block", "dictionary", "list", "tuple", "set"),
)
