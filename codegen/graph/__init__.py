"""Graph-level functions, executed call by call or as one native function with planned memory."""
