"""External functions that tests of programs call, and a check of saved functions (TVM: `relax.testing.vm`)."""

from __future__ import annotations

from typing import Any

from ....functions import register_func


@register_func("test.vm.move", override=True)
def move(src: Any) -> Any:
    """Return the argument."""
    return src


@register_func("test.vm.add", override=True)
def add(a: Any, b: Any) -> Any:
    """Return the sum of two arrays."""
    return a + b


@register_func("test.vm.mul", override=True)
def mul(a: Any, b: Any) -> Any:
    """Return the product of two arrays."""
    return a * b


@register_func("test.vm.equal_zero", override=True)
def equal_zero(a: Any) -> Any:
    """Return whether all elements are zero, as an array without dimensions."""
    import numpy as np

    return np.asarray(np.all(np.asarray(a) == 0))


@register_func("test.vm.subtract_one", override=True)
def subtract_one(a: Any) -> Any:
    """Return the elements minus one."""
    return a - 1


@register_func("test.vm.identity", override=True)
def identity_packed(a: Any, b: Any) -> None:
    """Copy the first array to the second."""
    b[...] = a


@register_func("test.vm.tile", override=True)
def tile_packed(a: Any, b: Any) -> None:
    """Write the columns of the first array twice to the second."""
    import numpy as np

    b[...] = np.tile(np.asarray(a), (1, 2))


@register_func("test.vm.add_scalar", override=True)
def add_scalar(a: Any, b: Any) -> Any:
    """Return the sum of two numbers."""
    return a + b


@register_func("test.vm.get_device_id", override=True)
def get_device_id(device: Any) -> int:
    """Return the number of a device."""
    return device.device_id


@register_func("test.vm.check_if_defined", override=True)
def check_if_defined(obj: Any) -> bool:
    """Return whether the argument is not None."""
    return obj is not None


def check_saved_func(vm: Any, func_name: str, *inputs: Any) -> Any:
    """Check that a function of a virtual machine, saved with its inputs, returns the same; return the result."""
    import numpy as np

    vm.save_function(func_name, f"{func_name}_saved", *inputs)
    result = vm[func_name](*inputs)
    np.testing.assert_allclose(np.asarray(result), np.asarray(vm[f"{func_name}_saved"]()), rtol=1e-7, atol=1e-7)
    return result
