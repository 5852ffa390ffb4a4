(function (block) @function.inside) @function.around
(generic_function (block) @function.inside) @function.around
(module (block) @class.inside) @class.around
(class_with_bases (block) @class.inside) @class.around
(parameters [(parameter) (annotated_parameter) (default_parameter) (annotated_default_parameter)] @parameter.inside)
(comment) @comment.inside
(comment)+ @comment.around
