"""Devices as values: where arrays are stored and programs run (TVM: `tvm.runtime.Device`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from ..ir.diagnostics import error
from .runtime.specs import ArgumentContext, kind_of

if TYPE_CHECKING:
    from .gpu.driver import Driver

CPU, CUDA = 1, 2
"""DLPack's device types kDLCPU and kDLCUDA."""

KINDS: dict[str, int] = {"cpu": CPU, "llvm": CPU, "c": CPU, "cuda": CUDA, "nvptx": CUDA}
"""Device types by the name of the device or of a target for it."""

_NAMES = {CPU: "cpu", CUDA: "cuda"}


class Device(Struct, frozen=True):
    """A device: `device_type` is DLPack's device type, `device_id` the number of the device."""

    device_type: int
    device_id: int = 0

    @property
    def index(self) -> int:
        """The number of the device (TVM 0.27)."""
        return self.device_id

    def dlpack_device_type(self) -> int:
        """Return DLPack's device type (TVM 0.27)."""
        return self.device_type

    @property
    def exist(self) -> bool:
        """Return whether this process can run programs on the device."""
        if self.device_type == CPU:
            return True
        from .gpu.driver import why_missing

        return self.device_id == 0 and not why_missing()

    @property
    def compute_version(self) -> str | None:
        """Return the compute capability of a GPU, such as "9.0"; None for the processor or a GPU that does not exist."""
        if self.device_type == CPU or not self.exist:
            return None
        digits = self._driver().arch.removeprefix("sm_").rstrip("af")
        return f"{digits[:-1]}.{digits[-1]}"

    def sync(self, stream: Any = None) -> None:
        """Wait until all work of the device, or of one of its streams, is done; E0702 if `stream` is not a stream."""
        if self.device_type != CPU:
            self._driver().synchronize(stream)

    def create_raw_stream(self) -> Any:
        """Return a new stream: calls with `stream=` of it execute in order, concurrently with other streams.

        TvmsError E0721 if the device has no streams.
        """
        return self._driver().stream()

    def event(self, stream: Any = None) -> Any:
        """Return an event that is complete when all preceding work of the device, or of a stream, is done; E0721 if
        the device has no streams.
        """
        return self._driver().event(stream)

    def milliseconds(self, start: Any, end: Any) -> float:
        """Wait for two events and return the time between them; E0721 if the device has no streams."""
        return self._driver().milliseconds(start, end)

    def _driver(self) -> Driver:
        from .gpu.driver import find_driver

        if self.device_type == CPU:
            raise error(
                "E0721",
                f"the device {self} has no streams",
                help="omit the stream: calls on this device are synchronous",
            )
        driver = find_driver()
        if self.device_id != driver.number:
            message = f"the device {self} is not used: kernels run on GPU {driver.number}"
            raise error("E0721", message, help="set CUDA_VISIBLE_DEVICES to select a GPU")
        return driver

    def __str__(self) -> str:
        return f"{_NAMES[self.device_type]}({self.device_id})"

    __repr__ = __str__


def device(dev_type: str | int, dev_id: int = 0) -> Device:
    """Return the device of a kind, given by name ("cpu", "cuda"), by target, or by DLPack's device type.

    Its existence is checked on use. TvmsError E0721 for an unknown kind.
    """
    kind = KINDS.get(dev_type.partition(" ")[0]) if isinstance(dev_type, str) else dev_type
    if kind not in _NAMES:
        raise error("E0721", f"unknown kind of device {dev_type!r}", help=f"use one of {', '.join(_NAMES.values())}")
    return Device(kind, dev_id)


def device_from_target(target: Any, index: int | None = None) -> Device:
    """Return the device that runs programs for `target` (TVM 0.27); TvmsError E0721 if its kind is unknown."""
    return device(str(target), index or 0)


def cpu(dev_id: int = 0) -> Device:
    """Return the processor."""
    return Device(CPU, dev_id)


def cuda(dev_id: int = 0) -> Device:
    """Return the GPU number `dev_id`."""
    return Device(CUDA, dev_id)


def check_device(value: object, function: str, argument: str = "device") -> Device:
    """Return `value`, an existing device; TvmsError E0702 if it is not a device, E0721 if it does not exist."""
    place = ArgumentContext(argument, function)
    if not isinstance(value, Device):
        help = 'pass tvms.cpu() or tvms.device("cpu", 0)'
        raise place.fault("E0702", f"expected a device, got {kind_of(value)}", help)
    if not value.exist:
        help = "compile for the target 'llvm' and use tvms.cpu()"
        raise place.fault("E0721", f"the device {value} does not exist", help)
    return value


def check_devices(value: object, function: str) -> tuple[Device, ...]:
    """Return a device, or each of a list of devices, as a tuple; raise as `check_device` does."""
    given = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    return tuple(check_device(item, function) for item in given)
