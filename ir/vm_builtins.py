"""Functions of TVM's virtual machine that programs call by name (TVM: `src/runtime/vm/builtin.cc`)."""

from __future__ import annotations

from typing import Any

from . import vm_kv_functions as vm_kv_functions  # registers the functions
from . import vm_params as vm_params
from . import vm_shapes as vm_shapes
from .functions import find_function, register_func
from .functions import get_global_func as get_global_func  # finds the functions of this module
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


@register_func("vm.builtin.multinomial_from_uniform")
def multinomial_from_uniform(prob: Any, uniform_sample: Any) -> Any:
    """Return, for each row of `prob`, the index (n, 1) of the class that a sample in [0, 1), (n, 1), selects."""
    import numpy as np

    count = (np.cumsum(prob, 1) <= uniform_sample).sum(1, keepdims=True)
    return np.minimum(count, prob.shape[1] - 1).astype(np.int64)


class AttentionCache:
    """A tensor (length, …) that grows along its first dimension; it has room for more positions than it holds.

    With a window, position `next` of a full cache is overwritten next.
    """

    def __init__(self, memory: Any) -> None:
        self.memory, self.length, self.next = memory, 0, 0

    def _reserve(self, room: int) -> None:
        """Make room for that many positions; the room doubles if it is exceeded."""
        import numpy as np

        if room > len(self.memory):
            grown = np.empty_like(self.memory, shape=(max(room, 2 * len(self.memory)), *self.memory.shape[1:]))
            grown[: self.length] = self.memory[: self.length]
            self.memory = grown

    def append(self, values: Any) -> None:
        """Append positions."""
        end = self.length + len(values)
        self._reserve(end)
        self.memory[self.length : end] = values
        self.length = self.next = end

    def override(self, values: Any, window: int, sinks: int) -> None:
        """Write positions one after the other; after position `window - 1` follows `sinks`.

        Raise ValueError if the window is not larger than `sinks`.
        """
        import numpy as np

        if not 0 <= sinks < window:
            raise ValueError(f"expected fewer sinks than the {window} positions of the window, got {sinks}")
        filled = max(self.length, min(self.next + len(values), window))
        self._reserve(filled)
        places = self.next + np.arange(len(values))
        places = np.where(places < window, places, sinks + (places - sinks) % (window - sinks))
        last = {int(place): number for number, place in enumerate(places)}
        self.memory[list(last)] = values[list(last.values())]
        self.length = filled
        if len(values):
            self.next = int(places[-1]) + 1


@register_func("vm.builtin.attention_kv_cache_create")
def attention_kv_cache_create(initial: Any, reserved: tuple[int, ...], length: int) -> AttentionCache:
    """Return a cache with room for `reserved`, which holds the first `length` positions of `initial`."""
    import numpy as np

    cache = AttentionCache(np.empty_like(initial, shape=tuple(reserved)))
    cache.append(initial[:length])
    return cache


@register_func("vm.builtin.attention_kv_cache_append")
def attention_kv_cache_append(cache: AttentionCache, values: Any) -> AttentionCache:
    """Append positions to the cache, in place."""
    cache.append(values)
    return cache


@register_func("vm.builtin.attention_kv_cache_window_override")
def attention_kv_cache_window_override(cache: AttentionCache, values: Any, window: int) -> AttentionCache:
    """Write positions to a cache of `window` positions, in place of its oldest."""
    cache.override(values, int(window), 0)
    return cache


@register_func("vm.builtin.attention_kv_cache_window_override_with_sinks")
def attention_kv_cache_window_override_with_sinks(
    cache: AttentionCache, values: Any, window: int, sinks: int
) -> AttentionCache:
    """Write positions to a cache of `window` positions, in place of its oldest after the first `sinks`, which stay.

    ValueError if the window is not larger than `sinks`.
    """
    cache.override(values, int(window), int(sinks))
    return cache


@register_func("vm.builtin.attention_kv_cache_view")
def attention_kv_cache_view(cache: AttentionCache, shape: tuple[int, ...]) -> Any:
    """Return a copy of the last positions; ValueError if the cache holds fewer."""
    if shape[0] > cache.length:
        raise ValueError(f"the cache holds {cache.length} positions, but {shape[0]} are asked for")
    return cache.memory[cache.length - shape[0] : cache.length].reshape(shape).copy()
