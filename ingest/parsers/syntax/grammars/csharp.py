"""Grammar of C#."""

from ingest.parsers.syntax.grammar import Grammar, children_of


def _csharp_language() -> object:
    from tree_sitter_c_sharp import language

    return language()


CSHARP = Grammar(
    load=_csharp_language,
    query="""
    (namespace_declaration) @namespace
    (class_declaration) @class
    (interface_declaration) @interface
    (struct_declaration) @struct
    (record_declaration) @record
    (enum_declaration) @enum
    (delegate_declaration) @delegate
    (method_declaration) @method
    (constructor_declaration) @constructor
    (destructor_declaration) @destructor
    (operator_declaration) @operator
    (property_declaration) @property
    (local_function_statement) @function
    (comment) @leading
    """
    + children_of(
        "compilation_unit",
        "declaration_list",
        "enum_member_declaration_list",
        "block",
        "switch_body",
        "switch_section",
        "accessor_list",
        "initializer_expression",
    ),
)
