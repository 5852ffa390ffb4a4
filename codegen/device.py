"""Where arrays lie and programs run, as values (TVM: `tvm.runtime.Device`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from ..ir.diagnostics import error
from .runtime.specs import Place, kind_of

if TYPE_CHECKING:
    from .gpu.driver import Driver

CPU, CUDA = 1, 2
"""DLPack's numbers: kDLCPU, kDLCUDA."""

KINDS: dict[str, int] = {"cpu": CPU, "llvm": CPU, "c": CPU, "cuda": CUDA, "nvptx": CUDA}
"""The number of each kind of device, by its name, or by that of a target whose code runs there."""

_NAMES = {CPU: "cpu", CUDA: "cuda"}


class Device(Struct, frozen=True):
    """A device: `device_type` is DLPack's number for its kind, `device_id` says which of them."""

    device_type: int
    device_id: int = 0

    @property
    def exist(self) -> bool:
        """Whether programs can run there in this process."""
        if self.device_type == CPU:
            return True
        from .gpu.driver import why_missing

        return self.device_id == 0 and not why_missing()

    def sync(self, stream: Any = None) -> None:
        """Wait until all that was asked of the device, or of one of its streams, is done."""
        if self.device_type != CPU:
            self._driver().synchronize(stream)

    def create_raw_stream(self) -> Any:
        """Return a new stream: what is called with `stream=` of it is done one after the other, beside other streams.

        TvmsError E0721 where the device has none.
        """
        return self._driver().stream()

    def event(self, stream: Any = None) -> Any:
        """Return an event that happens when all is done that was asked of the device, or of a stream, before; E0721 where
        there is none."""
        return self._driver().event(stream)

    def milliseconds(self, start: Any, end: Any) -> float:
        """Wait for two events, and return the time between them; E0721 where there is none."""
        return self._driver().milliseconds(start, end)

    def _driver(self) -> Driver:
        from .gpu.driver import find_driver

        if self.device_type == CPU:
            raise error("E0721", f"the device {self} has no streams", help="what is called there is done at once")
        return find_driver()

    def __str__(self) -> str:
        return f"{_NAMES[self.device_type]}({self.device_id})"

    __repr__ = __str__


def device(dev_type: str | int, dev_id: int = 0) -> Device:
    """Return the device of a kind, given by name ("cpu", "cuda"), by target, or by DLPack's number.

    It need not be there: that is asked where it is used. TvmsError E0721 where there is no such kind.
    """
    kind = KINDS.get(dev_type.partition(" ")[0]) if isinstance(dev_type, str) else dev_type
    if kind not in _NAMES:
        raise error(
            "E0721", f"there is no kind of device {dev_type!r}", help=f"kinds are: {', '.join(_NAMES.values())}"
        )
    return Device(kind, dev_id)


def cpu(dev_id: int = 0) -> Device:
    """Return the processor."""
    return Device(CPU, dev_id)


def cuda(dev_id: int = 0) -> Device:
    """Return the GPU of that number."""
    return Device(CUDA, dev_id)


def check_device(value: object, function: str, argument: str = "device") -> Device:
    """Return `value`, a device that is there; TvmsError E0702 where it is no device, E0721 where it is not there."""
    place = Place(argument, function)
    if not isinstance(value, Device):
        help = 'pass tvms.cpu() or tvms.device("cpu", 0)'
        raise place.fault("E0702", f"expected a device, got {kind_of(value)}", help)
    if not value.exist:
        help = "there is no GPU runtime in this process; compile for the target 'llvm' and use tvms.cpu()"
        raise place.fault("E0721", f"the device {value} is not there", help)
    return value


def check_devices(value: object, function: str) -> tuple[Device, ...]:
    """Return a device, or each of a list of them, as a tuple; raises as `check_device`."""
    given = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    return tuple(check_device(each, function) for each in given)
