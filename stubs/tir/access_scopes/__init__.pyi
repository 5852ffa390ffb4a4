"""`tvms.tir.access_scopes`. Generated from the declarations; do not edit."""

from tvms.ir.api.tir.access_scopes import detect_buffer_access_lca as detect_buffer_access_lca
