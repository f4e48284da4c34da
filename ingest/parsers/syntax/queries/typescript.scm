; beside ecmascript.scm
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

(interface_body (_) @statement)
(object_type (_) @statement)
(enum_body (_) @statement)
