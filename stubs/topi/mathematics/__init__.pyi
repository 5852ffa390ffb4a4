"""`tvms.topi.mathematics`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.mathematics import all as all
from tvms.ir.api.topi.mathematics import any as any
from tvms.ir.api.topi.mathematics import ceil_log2 as ceil_log2
from tvms.ir.api.topi.mathematics import dft as dft
from tvms.ir.api.topi.mathematics import elemwise_sum as elemwise_sum
from tvms.ir.api.topi.mathematics import fast_erf as fast_erf
from tvms.ir.api.topi.mathematics import fast_exp as fast_exp
from tvms.ir.api.topi.mathematics import fast_tanh as fast_tanh
from tvms.ir.api.topi.mathematics import fixed_point_multiply as fixed_point_multiply
from tvms.ir.api.topi.mathematics import fixed_point_multiply_per_axis as fixed_point_multiply_per_axis
from tvms.ir.api.topi.mathematics import identity as identity
from tvms.ir.api.topi.mathematics import log10 as log10
from tvms.ir.api.topi.mathematics import log2 as log2
from tvms.ir.api.topi.mathematics import reinterpret as reinterpret
from tvms.ir.api.topi.mathematics import scanop as scanop
from tvms.ir.api.topi.mathematics import searchsorted as searchsorted
from tvms.ir.api.topi.mathematics import stft as stft
