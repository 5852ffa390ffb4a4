"""`tvms.relax.training.setup_trainer`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.training.setup_trainer import SetupTrainer as SetupTrainer
