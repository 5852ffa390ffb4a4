"""The intrinsics that are known from the start, as texts: what each computes, and how it is called."""
