"""Functions of TVM's virtual machine that programs call by name (TVM: `src/runtime/vm/builtin.cc`)."""

from __future__ import annotations

from typing import Any

from .functions import find_function, register_func
from .sanitize import say


@register_func("vm.builtin.invoke_debug_func")
def invoke_debug_func(effect: Any, name: str, line: str, *args: Any) -> Any:
    """Call a registered function with a source line and arguments; return the effect."""
    find_function(name)(line, *args)
    return effect


@register_func("vm.builtin.debug_print")
def debug_print(line: str, value: Any) -> None:
    """Print a value and the source line that asks for it."""
    say(f"{line}: shape = {getattr(value, 'shape', ())}, dtype = {getattr(value, 'dtype', '')}, data =\n{value}")


class AttentionCache:
    """A tensor (length, …) that grows along its first dimension; it has room for more positions than it holds."""

    def __init__(self, memory: Any, length: int) -> None:
        self.memory, self.length = memory, length

    def append(self, values: Any) -> None:
        """Append positions; the room doubles if it is exceeded."""
        import numpy as np

        end = self.length + len(values)
        if end > len(self.memory):
            grown = np.empty((max(end, 2 * len(self.memory)), *self.memory.shape[1:]), self.memory.dtype)
            grown[: self.length] = self.memory[: self.length]
            self.memory = grown
        self.memory[self.length : end] = values
        self.length = end


@register_func("vm.builtin.attention_kv_cache_create")
def attention_kv_cache_create(initial: Any, reserved: tuple[int, ...], length: int) -> AttentionCache:
    """Return a cache with room for `reserved`, which holds the first `length` positions of `initial`."""
    import numpy as np

    cache = AttentionCache(np.empty(reserved, initial.dtype), 0)
    cache.append(initial[:length])
    return cache


@register_func("vm.builtin.attention_kv_cache_append")
def attention_kv_cache_append(cache: AttentionCache, values: Any) -> AttentionCache:
    """Append positions to the cache, in place."""
    cache.append(values)
    return cache


@register_func("vm.builtin.attention_kv_cache_view")
def attention_kv_cache_view(cache: AttentionCache, shape: tuple[int, ...]) -> Any:
    """Return a copy of the last positions; ValueError if the cache holds fewer."""
    if shape[0] > cache.length:
        raise ValueError(f"the cache holds {cache.length} positions, but {shape[0]} are asked for")
    return cache.memory[cache.length - shape[0] : cache.length].reshape(shape).copy()
