"""Grammars of JavaScript and TypeScript, with or without JSX."""

from ingest.parsers.syntax.grammar import Grammar, children_of


def _javascript_language() -> object:
    from tree_sitter_javascript import language

    return language()


def _typescript_language() -> object:
    from tree_sitter_typescript import language_typescript

    return language_typescript()


def _tsx_language() -> object:
    from tree_sitter_typescript import language_tsx

    return language_tsx()


_DEFINITIONS = """
(class_declaration) @class
(variable_declarator value: (class)) @class
(function_declaration) @function
(generator_function_declaration) @function
(variable_declarator name: (identifier)
  value: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression right: [(arrow_function) (function_expression) (generator_function)]) @function
(method_definition) @method
(pair value: [(arrow_function) (function_expression) (generator_function)]) @method
(export_statement [
  (class_declaration) (function_declaration) (generator_function_declaration)]) @wrapper
(comment) @leading
"""
_STATEMENTS = children_of(
    "program", "statement_block", "class_body", "switch_body", "switch_case", "object", "array"
)
_MARKUP = children_of("jsx_element")

_TYPES = """
(abstract_class_declaration) @class
(interface_declaration) @interface
(type_alias_declaration) @type
(enum_declaration) @enum
(internal_module) @namespace
(module) @module
(function_signature) @function
(method_signature) @method
(abstract_method_signature) @method
(public_field_definition value: [(arrow_function) (function_expression)]) @method
(export_statement [
  (abstract_class_declaration) (interface_declaration) (type_alias_declaration)
  (enum_declaration)]) @wrapper
(decorator) @leading
"""
_TYPED_STATEMENTS = children_of("interface_body", "object_type", "enum_body")

JAVASCRIPT = Grammar(
    load=_javascript_language,
    query=_DEFINITIONS
    + """
    (field_definition value: [(arrow_function) (function_expression)]) @method
    (decorator) @leading
    """
    + _STATEMENTS
    + _MARKUP,
)
TYPESCRIPT = Grammar(
    load=_typescript_language,
    query=_DEFINITIONS + _TYPES + _STATEMENTS + _TYPED_STATEMENTS,
)
TSX = Grammar(
    load=_tsx_language,
    query=_DEFINITIONS + _TYPES + _STATEMENTS + _TYPED_STATEMENTS + _MARKUP,
)
