(function . (_) @context name: (identifier) @name) @item
(generic_function "def" @context name: (identifier) @name) @item
(module . (_) @context name: (identifier) @name) @item
(class_with_bases "class" @context name: (identifier) @name) @item
