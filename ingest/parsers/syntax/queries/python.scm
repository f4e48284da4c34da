(class_definition) @class
(function_definition) @function
(decorated_definition) @wrapper
(comment) @leading

(module (_) @statement)
(block (_) @statement)
(dictionary (_) @statement)
(list (_) @statement)
(tuple (_) @statement)
(set (_) @statement)
