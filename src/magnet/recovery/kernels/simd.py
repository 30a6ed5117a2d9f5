"""Short vectors inside Numba functions.

Numba has no vector type, and its loop vectorizer gives up on our inner loops (a few columns wide, several
arrays that might overlap). A :class:`Vector` is an LLVM vector of ``LANES`` numbers: one row of a column
block. It is kept in registers, so a sparse product accumulates without touching memory.

Arrays are flat; positions count elements.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

#: Columns in a block: 16 float32 numbers are one 64-byte cache line.
LANES = 16

#: Digest of all kernel sources: Numba's cache on disk checks only the file of a function, not the functions that it
#: inlines.
_SOURCES = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))).digest()


def jit(function: Callable[..., Any]) -> Any:
    """Compile a kernel; it is compiled again when any file of this folder has changed."""
    compiled = njit(nogil=True, cache=True, error_model="numpy")(function)
    if hasattr(compiled, "_cache"):  # not where compilation is switched off
        file = compiled._cache._cache_file
        file._source_stamp = (file._source_stamp, _SOURCES)
    return compiled


class Vector(types.Type):
    """The Numba type of ``LANES`` numbers of one kind."""

    def __init__(self, element: types.Float) -> None:
        self.element = element
        super().__init__(name=f"Vector({element}, {LANES})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, ir.VectorType(_llvm(vector.element), LANES))


def _llvm(element: types.Float) -> ir.Type:
    return ir.FloatType() if element.bitwidth == 32 else ir.DoubleType()


def _pointer(context, builder, array_type, array, position):
    data = context.make_array(array_type)(context, builder, array).data
    pointer = builder.gep(data, [position])
    return builder.bitcast(pointer, ir.VectorType(_llvm(array_type.dtype), LANES).as_pointer())


@intrinsic
def load(typing_context, array, position):
    """``array[position : position + LANES]``."""

    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1])
        return builder.load(pointer, align=array.dtype.bitwidth // 8)

    return Vector(array.dtype)(array, types.intp), generate


@intrinsic
def store(typing_context, array, position, vector):
    """``array[position : position + LANES] = vector``."""

    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.none(array, types.intp, vector), generate


@intrinsic
def prefetch(typing_context, array, position):
    """Ask for the cache line at ``position`` before it is needed."""

    def generate(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        pointer = builder.bitcast(builder.gep(data, [args[1]]), cgutils.voidptr_t)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] + [cgutils.int32_t] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, cgutils.int32_t(0), cgutils.int32_t(3), cgutils.int32_t(1)])
        return context.get_dummy_value()

    return types.none(array, types.intp), generate


@intrinsic
def splat(typing_context, scalar):
    """A vector with the same number in every lane."""

    def generate(context, builder, signature, args):
        return _splat(builder, args[0])

    return Vector(scalar)(scalar), generate


@intrinsic
def total(typing_context, vector):
    """The sum of the lanes, in pairs."""

    def generate(context, builder, signature, args):
        element = _llvm(signature.return_type)
        kind = ir.FunctionType(element, [element, args[0].type])
        bits = signature.return_type.bitwidth
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{LANES}f{bits}")
        return builder.call(function, [ir.Constant(element, 0.0), args[0]], fastmath=("reassoc",))

    return vector.element(vector), generate


def _splat(builder, scalar):
    empty = ir.Constant(ir.VectorType(scalar.type, LANES), ir.Undefined)
    first = builder.insert_element(empty, scalar, cgutils.int32_t(0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(cgutils.int32_t, LANES), [0] * LANES))


def bits_of(array):
    """The same memory as whole numbers of the same size."""
    raise NotImplementedError("only inside Numba functions")


@overload(bits_of, strict=False)
def _bits_of(array):
    if array.dtype.bitwidth == 32:
        return lambda array: array.view(np.int32)
    return lambda array: array.view(np.int64)


def _binary(emit):
    @intrinsic
    def apply(typing_context, left, right):
        def generate(context, builder, signature, args):
            return emit(builder, args[0], args[1])

        return left(left, right), generate

    return apply


# "contract" lets a product and a sum fuse into one instruction; the order of sums stays as written
_FLAGS = ("contract",)
_add = _binary(lambda builder, a, b: builder.fadd(a, b, flags=_FLAGS))
_sub = _binary(lambda builder, a, b: builder.fsub(a, b, flags=_FLAGS))
_mul = _binary(lambda builder, a, b: builder.fmul(a, b, flags=_FLAGS))
_scale = _binary(lambda builder, a, s: builder.fmul(a, _splat(builder, s), flags=_FLAGS))
minimum = _binary(lambda builder, a, b: builder.select(builder.fcmp_ordered("<", a, b), a, b))
maximum = _binary(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))


def _emit_drop(builder, value, limit):
    outside = builder.or_(
        builder.fcmp_ordered(">", value, limit), builder.fcmp_ordered("<", value, builder.fneg(limit))
    )
    return builder.select(outside, ir.Constant(value.type, None), value)


drop_above = _binary(_emit_drop)
drop_above.__doc__ = "The first vector with 0 in the lanes whose magnitude exceeds the second."


def _emit_where(builder, value, mask):
    zero = ir.Constant(value.type, None)
    return builder.select(builder.fcmp_ordered(">", mask, zero), value, zero)


keep_where = _binary(_emit_where)
keep_where.__doc__ = "The first vector with 0 in the lanes where the second is not positive."


def _overload(symbol, vectors, scaled=None):
    @overload(symbol, strict=False)
    def choose(left, right):
        if isinstance(left, Vector) and left == right:
            return lambda left, right: vectors(left, right)
        if scaled is not None and isinstance(left, Vector) and right == left.element:
            return lambda left, right: scaled(left, right)
        return None


_overload(operator.add, _add)
_overload(operator.sub, _sub)
_overload(operator.mul, _mul, _scale)
