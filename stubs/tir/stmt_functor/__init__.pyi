"""`tvms.tir.stmt_functor`. Generated from the declarations; do not edit."""

from tvms.ir.api.tir.stmt_functor import ir_transform as ir_transform
from tvms.ir.api.tir.stmt_functor import post_order_visit as post_order_visit
from tvms.ir.api.tir.stmt_functor import pre_order_visit as pre_order_visit
from tvms.ir.api.tir.stmt_functor import renew_defs as renew_defs
from tvms.ir.api.tir.stmt_functor import substitute as substitute
