"""`tvms.relax.pipeline`. Generated from the declarations; do not edit."""

from tvms.ir.passes.pipelines import FOREIGN_PROCESSORS as FOREIGN_PROCESSORS
from tvms.ir.passes.pipelines import PIPELINES as PIPELINES
from tvms.ir.passes.pipelines import dataflow_lower_passes as dataflow_lower_passes
from tvms.ir.passes.pipelines import finalize_passes as finalize_passes
from tvms.ir.passes.pipelines import get_default_pipeline as get_default_pipeline
from tvms.ir.passes.pipelines import get_pipeline as get_pipeline
from tvms.ir.passes.pipelines import legalize_passes as legalize_passes
from tvms.ir.passes.pipelines import library_dispatch_passes as library_dispatch_passes
from tvms.ir.passes.pipelines import pipelines as pipelines
from tvms.ir.passes.pipelines import register_pipeline as register_pipeline
from tvms.ir.passes.pipelines import static_shape_tuning_pipeline as static_shape_tuning_pipeline
