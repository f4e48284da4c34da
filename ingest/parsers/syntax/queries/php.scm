(namespace_definition body: (_)) @namespace
(class_declaration) @class
(interface_declaration) @interface
(trait_declaration) @trait
(enum_declaration) @enum
(function_definition) @function
(method_declaration) @method
(comment) @leading

(program (_) @statement)
(compound_statement (_) @statement)
(declaration_list (_) @statement)
(enum_declaration_list (_) @statement)
(switch_block (_) @statement)
(case_statement (_) @statement)
(array_creation_expression (_) @statement)
