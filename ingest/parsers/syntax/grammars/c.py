"""Grammars of C and C++."""

from ingest.parsers.syntax.grammar import Grammar, children_of


def _c_language() -> object:
    from tree_sitter_c import language

    return language()


def _cpp_language() -> object:
    from tree_sitter_cpp import language

    return language()


_DEFINITIONS = """
(function_definition) @function
(struct_specifier name: (_) body: (_)) @struct
(union_specifier name: (_) body: (_)) @union
(enum_specifier name: (_) body: (_)) @enum
(type_definition) @type
(preproc_function_def) @macro
(comment) @leading
"""
_STATEMENTS = children_of(
    "translation_unit",
    "compound_statement",
    "case_statement",
    "field_declaration_list",
    "enumerator_list",
    "initializer_list",
    "linkage_specification",
    "declaration_list",
    "preproc_if",
    "preproc_ifdef",
    "preproc_else",
    "preproc_elif",
)

C = Grammar(load=_c_language, query=_DEFINITIONS + _STATEMENTS)
CPP = Grammar(
    load=_cpp_language,
    query=_DEFINITIONS
    + """
    (namespace_definition) @namespace
    (class_specifier name: (_) body: (_)) @class
    (concept_definition) @concept
    (template_declaration [
      (function_definition) (class_specifier) (struct_specifier) (union_specifier)
      (concept_definition)]) @wrapper
    """
    + _STATEMENTS,
)
