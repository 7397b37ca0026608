# SPDX-License-Identifier: Apache-2.0
"""How an operator becomes ``torch.ops.pymluops.<name>``.

An operator is registered under the keys of torch's dispatcher that matter to it: its kernel, a
fake kernel for FakeTensor, torch.compile and torch.export, its derivative, autocast and vmap.
The derivative is an autograd.Function of ours under the Autograd key: what
``torch.library.register_autograd`` generates does the same, and takes 12 microseconds more. From
there, plain tensors go to the kernel at once: to ask the dispatcher again takes up to 3.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import Function, forward_ad

if TYPE_CHECKING:
    from collections.abc import Callable

_INTS = range(-(2**63), 2**63)  # what the dispatcher takes
_REALS = {"float": "a number", "bool": "a bool"}
#: The keys of a call whose tensors are all plain, with no mode of torch's active.
_PLAIN = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU).add(torch._C.DispatchKey.AutogradCPU)
_library = torch.library.Library("pymluops", "DEF")


def define(
    schema: str,
    *,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    setup_context: Callable[[Any, tuple[Any, ...], Any], None] | None = None,
    backward: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Register an operator and return it.

    Parameters
    ----------
    schema : str
        Name, parameters without defaults, and results, in torch's notation.
    kernel, fake : callable
        The computation, and the same without data: checks, shapes, dtypes and strides.
    setup_context, backward : callable, optional
        As for ``torch.library.register_autograd``. An operator without them, such as a
        derivative, says so when it is to be differentiated.
    """
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    name = schema.partition("(")[0]
    qualified_name = f"pymluops::{name}"
    op: Callable[..., Any] = getattr(torch.ops.pymluops, name).default
    _library.impl(name, kernel, "CPU")
    _library.impl(name, _refuse_other_devices(name), "CompositeExplicitAutograd")
    torch.library.register_fake(qualified_name, _fake_kernel(name, fake), lib=_library)
    if setup_context is None or backward is None:
        setup_context, backward = _save_nothing, _refuse_second_derivative(name)
    autograd_kernel = _autograd_kernel(name, op, kernel, setup_context, backward)
    _library.impl(name, autograd_kernel, "Autograd", with_keyset=True)
    torch.library.register_autocast(qualified_name, "cpu", torch.float32, lib=_library)
    torch.library.register_vmap(qualified_name, _refuse_vmap(name), lib=_library)
    return _checked(name, op)


def _checked(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    """Return the operator with errors of ours for what the dispatcher cannot take."""

    def call(*args: Any) -> Any:
        try:
            return op(*args)
        except (RuntimeError, AttributeError):  # a kernel gets None where a tensor is missing
            _check_types(name, args)
            raise

    return call


def _check_types(name: str, args: tuple[Any, ...]) -> None:
    """Raise TypeError for an argument that is not what the schema says."""
    for argument, given in zip(_schema(name).arguments, args, strict=True):
        kind = str(argument.type)
        if kind == "Tensor" or (kind == "Optional[Tensor]" and given is not None):
            check_tensor(name, argument.name, given)
        elif kind == "int":
            _check_int(name, argument.name, given)
        elif kind == "List[int]":
            for each in given:
                _check_int(name, argument.name, each)
        elif kind in _REALS and not hasattr(given, "__float__") and (kind, given) != ("bool", None):
            message = f"{name}: {argument.name} is {given!r}, expected {_REALS[kind]}"
            raise TypeError(message)


def _check_int(op: str, name: str, given: Any) -> None:
    """Raise for what the dispatcher takes for no int. It takes NumPy's and those in tensors."""
    if isinstance(given, torch.SymInt):
        return
    try:
        number = operator.index(given)
    except TypeError:
        message = f"{op}: {name} is {given!r}, expected an int"
        raise TypeError(message) from None
    if number not in _INTS:
        message = f"{op}: {name} is {number}, expected an int of 64 bits"
        raise ValueError(message)


def check_tensor(op: str, name: str, given: object) -> None:
    """Raise TypeError for a list, an array or whatever else is no tensor."""
    if not isinstance(given, Tensor):
        message = (
            f"{op}: {name} is a {type(given).__name__}, expected a Tensor; "
            f"pass torch.as_tensor({name})"
        )
        raise TypeError(message)


def _schema(name: str) -> Any:
    return getattr(torch.ops.pymluops, name).default._schema


def _autograd_kernel(
    name: str,
    op: Callable[..., Any],
    cpu_kernel: Callable[..., Any],
    setup_context: Callable[[Any, tuple[Any, ...], Any], None],
    backward: Callable[..., Any],
) -> Callable[..., Any]:
    def dispatch(*args: Any) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return op(*args)

    record_kernel = _recorder(name, cpu_kernel, setup_context, backward)
    record_dispatch = _recorder(name, dispatch, setup_context, backward)

    def kernel(keys: Any, *args: Any) -> Any:
        if torch._C._are_functorch_transforms_active():
            message = f"{name}: torch.func transforms are not supported; use torch.autograd"
            raise NotImplementedError(message)
        if forward_ad._current_level >= 0 and any(map(_has_tangent, args)):
            message = f"{name}: forward-mode differentiation is not supported; use backward()"
            raise NotImplementedError(message)
        plain = keys == _PLAIN
        if torch.is_grad_enabled():
            for arg in args:
                if isinstance(arg, Tensor) and arg.requires_grad:
                    return record_kernel(*args) if plain else record_dispatch(*args)
        return cpu_kernel(*args) if plain else dispatch(*args)

    return kernel


def _recorder(
    name: str,
    compute: Callable[..., Any],
    setup_context: Callable[[Any, tuple[Any, ...], Any], None],
    backward: Callable[..., Any],
) -> Callable[..., Any]:
    """Return a function that computes, and records the operator for `backward`."""

    def forward(ctx: Any, *args: Any) -> Any:
        ctx.set_materialize_grads(False)
        output = compute(*args)
        setup_context(ctx, args, output)
        return output

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    node: Any = type(f"{name}_node", (Function,), methods)
    # Function has an apply of its own, for transforms of torch.func. They do not come here.
    recorder: Callable[..., Any] = super(Function, node).apply
    return recorder


def _has_tangent(arg: Any) -> bool:
    return isinstance(arg, Tensor) and forward_ad.unpack_dual(arg).tangent is not None


def _check_devices(name: str, args: tuple[Any, ...]) -> None:
    for index, arg in enumerate(args):
        if isinstance(arg, Tensor) and (
            arg.device.type not in ("cpu", "meta") or arg.layout is not torch.strided
        ):
            argument = _schema(name).arguments[index].name
            kind = str(arg.layout).removeprefix("torch.")
            message = (
                f"{name}: {argument} is a {kind} tensor on {arg.device}, expected a dense tensor "
                f"on the CPU; pass {argument}.{'cpu' if kind == 'strided' else 'to_dense'}()"
            )
            raise ValueError(message)


def _refuse_other_devices(name: str) -> Callable[..., Any]:
    """Return the kernel for all that is not a dense tensor on the CPU."""

    def kernel(*args: Any) -> Any:
        _check_devices(name, args)
        _check_types(name, args)
        message = f"{name}: expected plain tensors on the CPU; call dequantize() on quantized ones"
        raise ValueError(message)

    return kernel


def _fake_kernel(name: str, fake: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(*args: Any) -> Any:
        _check_devices(name, args)
        return fake(*args)

    return kernel


def refuse_scripting(name: str) -> Callable[..., Any]:
    """Return what ``torch.jit.script`` finds and calls before it compiles something of ours."""

    def prepare(*_: Any) -> Any:
        message = f"{name}: torch.jit.script is not supported; use torch.compile or torch.export"
        raise NotImplementedError(message)

    return prepare


def _save_nothing(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    pass


def _refuse_second_derivative(name: str) -> Callable[..., Any]:
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        message = (
            f"{name} has no derivative of its own: second derivatives are not supported. "
            "Leave out create_graph=True, or detach() the gradient before it is used further"
        )
        raise NotImplementedError(message)

    return backward


def _refuse_vmap(name: str) -> Callable[..., Any]:
    def batched(info: Any, in_dims: Any, *args: Any) -> Any:
        message = (
            f"{name}: torch.vmap is not supported; the operator takes batches itself: "
            "move the mapped dim into the batch dim N with flatten(0, 1), or call it in a loop"
        )
        raise NotImplementedError(message)

    return batched
