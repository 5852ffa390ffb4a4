"""The intrinsics that are known from the start, as texts, or as what writes their texts: what each computes, and how it is
called."""
