"""`tvms.relax.training.trainer`. Generated from the declarations; do not edit."""

from tvms.codegen.trainer import Arrays as Arrays
from tvms.codegen.trainer import Trainer as Trainer
