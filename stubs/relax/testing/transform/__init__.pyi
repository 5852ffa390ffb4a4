"""`tvms.relax.testing.transform`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.testing.transform import ApplyEmptyCppMutator as ApplyEmptyCppMutator
from tvms.ir.api.relax.testing.transform import dataflow_alias_analysis as dataflow_alias_analysis
from tvms.ir.api.relax.testing.transform import dataflow_inplace_analysis as dataflow_inplace_analysis
from tvms.ir.api.relax.testing.transform import dataflow_liveness_analysis as dataflow_liveness_analysis
from tvms.ir.api.relax.testing.transform import dataflow_single_inplace_call as dataflow_single_inplace_call
