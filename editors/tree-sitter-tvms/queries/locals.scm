[(source_file) (module) (class_with_bases) (function) (generic_function) (lambda_expression)] @local.scope

(parameter name: (identifier) @local.definition.parameter)
(annotated_parameter name: (identifier) @local.definition.parameter)
(default_parameter name: (identifier) @local.definition.parameter)
(annotated_default_parameter name: (identifier) @local.definition.parameter)
(function name: (identifier) @local.definition.function)
(generic_function name: (identifier) @local.definition.function)
(module name: (identifier) @local.definition.type)
(class_with_bases name: (identifier) @local.definition.type)

(assign . (identifier) @local.definition.var)
(assign . (bare_tuple (identifier) @local.definition.var))
(annotated_assign . (identifier) @local.definition.var)
(for_statement . (identifier) @local.definition.var)
(for_statement . (bare_tuple (identifier) @local.definition.var))
(context_as (identifier) @local.definition.var .)

(identifier) @local.reference
