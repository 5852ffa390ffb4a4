"""From the syntax tree to the program: names get their meaning, forms become nodes."""
