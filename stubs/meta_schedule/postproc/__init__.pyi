"""`tvms.meta_schedule.postproc`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.postproc import DisallowDynamicLoop as DisallowDynamicLoop
from tvms.codegen.tuner.postproc import Postproc as Postproc
from tvms.codegen.tuner.postproc import PyPostproc as PyPostproc
from tvms.codegen.tuner.postproc import RewriteCooperativeFetch as RewriteCooperativeFetch
from tvms.codegen.tuner.postproc import RewriteParallelVectorizeUnroll as RewriteParallelVectorizeUnroll
from tvms.codegen.tuner.postproc import RewriteReductionBlock as RewriteReductionBlock
from tvms.codegen.tuner.postproc import RewriteTensorize as RewriteTensorize
from tvms.codegen.tuner.postproc import RewriteUnboundBlock as RewriteUnboundBlock
