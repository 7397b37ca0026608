# SPDX-License-Identifier: Apache-2.0
"""The PyTorch operators as torch sees them: compile, export, fake tensors, autocast, refusals."""

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch_case import Case
from torch_families import CASES, FIRST_CASES

import pymluops.torch as ours

# What opcheck tests, but for the last, test_aot_dispatch_dynamic.
BUT_TRACING = ("test_schema", "test_autograd_registration", "test_faketensor")
ALL_CASES = pytest.mark.parametrize("case", CASES, ids=str)
EACH_OPERATOR = pytest.mark.parametrize("case", FIRST_CASES, ids=str)


def with_gradients(case: Case, dtype: torch.dtype = torch.float32) -> list[object]:
    args = case.arguments(dtype)
    for index in case.differentiable:
        args[index].requires_grad_()
    return args


def registered(case: Case, args: list[object]) -> tuple[object, tuple[object, ...]]:
    name, operator_args = case.operator(*args)
    return getattr(torch.ops.pymluops, name).default, operator_args


@ALL_CASES
def test_opcheck(case: Case) -> None:
    operator, args = registered(case, with_gradients(case))
    torch.library.opcheck(operator, args, test_utils=BUT_TRACING)
    # Tracing for sizes that may change takes most of the time: one case of each operator.
    first = next(c for c in CASES if registered(c, c.arguments())[0] is operator)
    if case is first:
        torch.library.opcheck(operator, args, test_utils="test_aot_dispatch_dynamic")


@EACH_OPERATOR
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_opcheck_of_fake_kernels_in_half_and_channels_last(case: Case, dtype: torch.dtype) -> None:
    args = with_gradients(case, dtype)
    args[0] = args[0].detach().to(memory_format=torch.channels_last).requires_grad_()
    operator, operator_args = registered(case, args)
    torch.library.opcheck(operator, operator_args, test_utils=("test_schema", "test_faketensor"))


@EACH_OPERATOR
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last], ids=str)
def test_opcheck_of_the_derivatives(case: Case, memory_format: torch.memory_format) -> None:
    """Whatever arguments a backward makes, they are those of an operator that passes opcheck."""
    calls = []

    class Recorder(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            if "_backward" in func.name() and func.namespace == "pymluops":
                calls.append((func, args))
            return func(*args, **(kwargs or {}))

    given = [
        arg.detach().contiguous(memory_format=memory_format).requires_grad_(arg.requires_grad)
        if isinstance(arg, Tensor) and arg.dim() == 4
        else arg
        for arg in with_gradients(case)
    ]
    result = case.ours(*given)
    with Recorder():
        result.sum().backward()
    ((operator, args),) = calls
    args = [arg.detach() if isinstance(arg, Tensor) else arg for arg in args]
    torch.library.opcheck(operator, args)
    args[0].requires_grad_()
    torch.library.opcheck(operator, args, test_utils="test_autograd_registration")


@ALL_CASES
def test_fake_tensors_tell_shape_dtype_and_strides(case: Case) -> None:
    args = case.arguments()
    for memory_format in (torch.contiguous_format, torch.channels_last):
        args[0] = args[0].contiguous(memory_format=memory_format)
        real = case.ours(*args)
        with FakeTensorMode() as mode:
            faked = [mode.from_tensor(arg) if isinstance(arg, Tensor) else arg for arg in args]
            fake = case.ours(*faked)
        assert (fake.shape, fake.dtype, fake.stride()) == (real.shape, real.dtype, real.stride())
        assert fake.device == real.device


@EACH_OPERATOR
def test_meta_tensors(case: Case) -> None:
    args = case.arguments()
    meta = [arg.to("meta") if isinstance(arg, Tensor) else arg for arg in args]
    result = case.ours(*meta)
    assert result.device.type == "meta"
    assert result.shape == case.ours(*args).shape


@EACH_OPERATOR
def test_compile_without_graph_breaks(case: Case) -> None:
    # aot_eager traces forward and backward as the default backend does, without a C++ compiler.
    compiled = torch.compile(case.ours, fullgraph=True, backend="aot_eager")
    args, other = with_gradients(case), with_gradients(case)
    result, expected = compiled(*args), case.ours(*other)
    assert torch.equal(result, expected)
    result.square().sum().backward()
    expected.square().sum().backward()
    for index in case.differentiable:
        assert torch.equal(args[index].grad, other[index].grad)


# -------------------------------------------------------------------------------------- autocast


@EACH_OPERATOR
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_autocast_computes_in_float32(case: Case, dtype: torch.dtype) -> None:
    args = with_gradients(case)
    mixed = list(args)
    mixed[0] = args[0].to(dtype)
    with torch.autocast("cpu", dtype=dtype):
        result = case.ours(*mixed)
    assert result.dtype == torch.float32
    rounded = [args[0].to(dtype).float(), *args[1:]]
    assert torch.equal(result, case.ours(*rounded))
    result.sum().backward()
    assert all(args[index].grad is not None for index in case.differentiable)


# --------------------------------------------------------------------------------- what is refused


@EACH_OPERATOR
def test_a_second_derivative_is_refused(case: Case) -> None:
    args = with_gradients(case)
    leaves = [args[index] for index in case.differentiable]
    grads = torch.autograd.grad(case.ours(*args).square().sum(), leaves, create_graph=True)
    with pytest.raises(NotImplementedError, match=r"second derivatives are not supported.*detach"):
        sum(grad.sum() for grad in grads).backward()


@EACH_OPERATOR
def test_vmap_is_refused(case: Case) -> None:
    args = case.arguments()
    batched = torch.stack([args[0], args[0]])
    with pytest.raises(NotImplementedError, match=r"vmap is not supported.*batch dim N"):
        torch.vmap(lambda x: case.ours(x, *args[1:]))(batched)


@EACH_OPERATOR
def test_function_transforms_are_refused(case: Case) -> None:
    args = case.arguments()
    with pytest.raises(NotImplementedError, match=r"torch.func transforms.*torch.autograd"):
        torch.func.grad(lambda x: case.ours(x, *args[1:]).sum())(args[0])


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@EACH_OPERATOR
def test_forward_mode_is_refused(case: Case) -> None:
    args = case.arguments()
    with torch.autograd.forward_ad.dual_level():
        args[0] = torch.autograd.forward_ad.make_dual(args[0], torch.ones_like(args[0]))
        with pytest.raises(NotImplementedError, match=r"forward-mode.*backward\(\)"):
            case.ours(*args)


@EACH_OPERATOR
def test_lists_and_arrays_are_refused_by_name(case: Case) -> None:
    args = case.arguments()
    tensors = [index for index, arg in enumerate(args) if isinstance(arg, Tensor)]
    for index in tensors:
        for given in (args[index].tolist(), args[index].numpy(), None):
            changed = [*args[:index], given, *args[index + 1 :]]
            kind = type(given).__name__
            if given is None and _may_be_none(case, args[index], args):
                continue
            with pytest.raises(TypeError, match=f": [a-z]+ is a {kind}, expected a Tensor; pass"):
                case.ours(*changed)


def _may_be_none(case: Case, tensor: Tensor, args: list[object]) -> bool:
    """Tell whether the operator takes a call without this tensor."""
    operator, given = registered(case, args)
    schema = zip(operator._schema.arguments, given, strict=True)  # type: ignore[attr-defined]
    return any(each is tensor and str(argument.type) != "Tensor" for argument, each in schema)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize("name", ours.__all__)
def test_scripting_is_refused(name: str) -> None:
    text = f"{name}: torch.jit.script is not supported; use torch.compile or torch.export"
    public = getattr(ours, name)
    if isinstance(public, type):
        module = torch.nn.Sequential(public.__new__(public))
        torch.nn.Module.__init__(module[0])
        with pytest.raises(NotImplementedError, match=text):
            torch.jit.script(module)
    else:

        def calls(x: Tensor) -> Tensor:
            return public(x)

        for function in (public, calls):
            with pytest.raises(NotImplementedError, match=text):
                torch.jit.script(function)
