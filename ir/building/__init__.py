"""Construction of graph-level programs in Python: values, calls of tensor functions, and the block builder."""
