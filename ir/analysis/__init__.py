"""What can be known of a program without running it: bounds, residues, proofs, iterators, regions, dependences."""
