"""Building graph-level programs in Python: values, calls of functions of tensors, and the block builder."""
