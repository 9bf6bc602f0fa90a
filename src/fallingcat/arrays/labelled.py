"""xarray objects: calls a function with axes matched by name, and labels its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fallingcat.arrays.blocks import Argument
from fallingcat.errors import InputError
from fallingcat.suggest import closest


@dataclass(frozen=True)
class Axis:
    """An axis that belongs to one state."""

    dim: str
    labels: tuple[str, ...] = ()
    """The names of the entries, if they have names."""


@dataclass(frozen=True)
class Labels:
    """The name of an array, the axes of one state, and its attributes."""

    name: str
    axes: tuple[Axis, ...]
    attrs: dict[str, str] = field(default_factory=dict)


def apply(
    run: Callable[..., Any], where: str, arguments: Sequence[Argument], inputs: Sequence[Labels], outputs: Sequence[Labels]
) -> Any:
    """`run(*arrays)` on the arrays in xarray objects; batch axes are matched by name, and keep their coordinates."""
    import xarray as xr

    values, dims = [], []
    for k, (argument, labels) in enumerate(zip(arguments, inputs, strict=True)):
        value, core = argument.value, [f"__{k}_{i}" for i in range(argument.core)]
        if isinstance(value, xr.DataArray):
            value = _own_axes(xr, where, argument, labels, core)
        values.append(value)
        dims.append(core)
    batch = {str(d) for v in values if isinstance(v, xr.DataArray) for d in v.dims}
    named = [_unused_names(labels, batch) for labels in outputs]
    _same_coordinates(xr, where, arguments, values)
    cores = [[a.dim for a in o.axes] for o in named]
    results = xr.apply_ufunc(run, *values, input_core_dims=dims, output_core_dims=cores, dask="allowed", join="exact")
    several = results if isinstance(results, tuple) else (results,)
    labelled = [_with_labels(r, o) for r, o in zip(several, named, strict=True)]
    return labelled if isinstance(results, tuple) else labelled[0]


def _same_coordinates(xr: Any, where: str, arguments: Sequence[Argument], values: Sequence[Any]) -> None:
    """Refuse batch axes of one name whose lengths or coordinates differ."""
    first: dict[str, tuple[str, Any]] = {}
    for argument, value in zip(arguments, values, strict=True):
        for dim in value.dims if isinstance(value, xr.DataArray) else ():
            name, other = first.setdefault(str(dim), (argument.name, value))
            if other.sizes[dim] != value.sizes[dim]:
                got, expected = f"{value.sizes[dim]} in {argument.name}", f"{other.sizes[dim]} as in {name}"
                raise InputError(f"{where}: {name} and {argument.name} differ along {dim!r}", expected=expected, got=got)
            if dim in other.indexes and dim in value.indexes and not other.indexes[dim].equals(value.indexes[dim]):
                hint = "xarray.align(a, b, join='inner') keeps what both have"
                raise InputError(f"{where}: {name} and {argument.name} have different coordinates along {dim!r}", hint=hint)


def _own_axes(xr: Any, where: str, argument: Argument, labels: Labels, core: Sequence[str]) -> Any:
    """The argument with entries in the robot's order, and the axes of a state renamed so that no other argument has them."""
    value = argument.value
    wanted = [axis.dim for axis in labels.axes]
    if value.ndim < argument.core:
        raise InputError(
            f"{where}: {argument.name} has too few dimensions", expected=f"(..., {', '.join(wanted)})", got=str(value.dims)
        )
    found = wanted if wanted and all(dim in value.dims for dim in wanted) else list(value.dims[value.ndim - argument.core :])
    for dim, axis in zip(found, labels.axes, strict=False):
        if dim in value.indexes and axis.labels and value.indexes[dim].dtype.kind in "OUT":
            value = _in_order(where, argument.name, value, dim, axis)
    return value.drop_vars([name for name in value.coords if set(value[name].dims) & set(found)]).rename(
        dict(zip(found, core, strict=True))
    )


def _in_order(where: str, name: str, value: Any, dim: str, axis: Axis) -> Any:
    """The array with its entries sorted by label into the robot's order."""
    labels = tuple(map(str, value.indexes[dim]))
    if labels == axis.labels:
        return value
    odd = [label for label in labels if label not in axis.labels]
    missing = [label for label in axis.labels if label not in labels]
    if odd or missing or len(set(labels)) != len(labels):
        got = f"{odd[0]!r} among them" if odd else f"{missing[0]!r} missing" if missing else "one of them twice"
        hint = closest(odd[0], axis.labels) if odd else ""
        raise InputError(f"{where}: the labels of {name} are not this robot's", expected=f"{axis.labels}", got=got, hint=hint)
    return value.sel({dim: list(axis.labels)})


def _unused_names(labels: Labels, batch: set[str]) -> Labels:
    """The labels with axes renamed that have the name of a batch axis."""
    axes = tuple(Axis(a.dim + "_of_result" if a.dim in batch else a.dim, a.labels) for a in labels.axes)
    return Labels(labels.name, axes, labels.attrs)


def _with_labels(result: Any, labels: Labels) -> Any:
    result = result.assign_coords({a.dim: list(a.labels) for a in labels.axes if a.labels})
    result.attrs = dict(labels.attrs)
    return result.rename(labels.name)
