"""`tvms.arith.analyzer`. Generated from the declarations; do not edit."""

from tvms.ir.api.arith.analyzer import Analyzer as Analyzer
from tvms.ir.api.arith.analyzer import ConstIntBound as ConstIntBound
from tvms.ir.api.arith.analyzer import Extension as Extension
from tvms.ir.api.arith.analyzer import ModularSet as ModularSet
from tvms.ir.api.arith.analyzer import ProofStrength as ProofStrength
