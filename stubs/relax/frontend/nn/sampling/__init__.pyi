"""`tvms.relax.frontend.nn.sampling`. Generated from the declarations; do not edit."""

from tvms.ir.nn.sampling import multinomial_from_uniform as multinomial_from_uniform
from tvms.ir.nn.sampling import renormalize_top_p_top_k_prob as renormalize_top_p_top_k_prob
from tvms.ir.nn.sampling import sample_top_p_top_k_from_sorted_prob as sample_top_p_top_k_from_sorted_prob
