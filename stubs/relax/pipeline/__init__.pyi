"""`tvms.relax.pipeline`. Generated from the declarations; do not edit."""

from tvms.ir.passes.pipelines import PIPELINES as PIPELINES
from tvms.ir.passes.pipelines import get_default_pipeline as get_default_pipeline
from tvms.ir.passes.pipelines import get_pipeline as get_pipeline
from tvms.ir.passes.pipelines import pipelines as pipelines
from tvms.ir.passes.pipelines import register_pipeline as register_pipeline
