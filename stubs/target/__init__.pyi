"""`tvms.target`. Generated from the declarations; do not edit."""

from tvms.codegen.current_target import CUDA_LIMITS as CUDA_LIMITS
from tvms.codegen.current_target import FOREIGN_KINDS as FOREIGN_KINDS
from tvms.codegen.current_target import FOREIGN_TAGS as FOREIGN_TAGS
from tvms.codegen.current_target import Target as Target
from tvms.codegen.current_target import TargetKind as TargetKind
from tvms.codegen.current_target import create as create
from tvms.codegen.current_target import cuda as cuda
from tvms.codegen.current_target import default_target as default_target
from tvms.target import codegen as codegen
from tvms.target import detect_target as detect_target
from tvms.target import tag as tag
from tvms.target import target as target
