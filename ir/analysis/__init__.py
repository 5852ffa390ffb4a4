"""Static analyses: bounds, residues, proofs, iterator maps, regions, dependences."""
