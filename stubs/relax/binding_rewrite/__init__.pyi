"""`tvms.relax.binding_rewrite`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.binding_rewrite import DataflowBlockRewrite as DataflowBlockRewrite
