"""`tvms.runtime.params`. Generated from the declarations; do not edit."""

from tvms.codegen.runtime.params import load_param_dict as load_param_dict
from tvms.codegen.runtime.params import load_param_dict_from_file as load_param_dict_from_file
from tvms.codegen.runtime.params import save_param_dict as save_param_dict
from tvms.codegen.runtime.params import save_param_dict_to_file as save_param_dict_to_file
