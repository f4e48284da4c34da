(class_declaration) @class
(interface_declaration) @interface
(enum_declaration) @enum
(record_declaration) @record
(annotation_type_declaration) @annotation
(method_declaration) @method
(constructor_declaration) @constructor
(compact_constructor_declaration) @constructor
(line_comment) @leading
(block_comment) @leading

(program (_) @statement)
(block (_) @statement)
(constructor_body (_) @statement)
(class_body (_) @statement)
(interface_body (_) @statement)
(annotation_type_body (_) @statement)
(enum_body (_) @statement)
(enum_body_declarations (_) @statement)
(switch_block (_) @statement)
(switch_block_statement_group (_) @statement)
(array_initializer (_) @statement)
