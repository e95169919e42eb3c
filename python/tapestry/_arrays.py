"""Converts arrays, as functions see them, to one list of float64, as the checker sees them, and back.

bf16 is ml_dtypes.bfloat16, or its bits as uint16 if a check specifies that; f16 is float16.
The checker rounds numbers of either type before it passes them on, so nothing is rounded here.
"""

import numpy as np


def _is_bf16(dtype):
    return dtype.name == "bfloat16"  # of ml_dtypes, which may not be installed


def as_shown(value, what):
    """An array of any type, from numbers, an array, or any object that exposes its memory (DLPack, the
    buffer protocol), which is not copied. Tensors are detached."""
    if hasattr(value, "detach"):  # PyTorch's, which conjugates lazily
        if getattr(value, "is_sparse", False):  # as the gradient of an embedding may be
            value = value.to_dense()
        value = value.detach().cpu().resolve_conj().resolve_neg()
        if str(value.dtype) == "torch.bfloat16":
            value = value.double()
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        try:
            value = np.from_dlpack(value)
        except (RuntimeError, BufferError):  # a type that NumPy lacks: try other protocols
            pass
    if np.ma.is_masked(value):  # np.asarray would drop the mask
        raise TypeError(f"{what} has masked entries: fill them, or leave them out")
    try:
        array = np.asarray(value)
    except ValueError as error:  # which would mean that the function is not defined there
        raise TypeError(f"{what} must be an array of numbers: {error}") from error
    if array.dtype.kind not in "biufc" and not _is_bf16(array.dtype):
        raise TypeError(f"{what} must be an array of numbers, got {array.dtype}")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def as_array(value, what, bits=False):
    """The same as float64 or complex128, not copied if it has that type. `bits`: uint16 is bf16."""
    array = as_shown(value, what)
    if bits and array.dtype == np.uint16:
        array = np.asarray(array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)


def of_type(array, dtype):
    """float64 as an array of another type that can represent it; uint16: as the bits of bf16."""
    if dtype != np.uint16 and not _is_bf16(dtype):
        return array.astype(dtype, copy=False)
    bits = array.astype(np.float32).view(np.uint32) >> np.uint32(16)
    bits = np.asarray(bits, np.uint16)
    return bits if dtype == np.uint16 else bits.view(dtype)


def refuse_bits(array, what):
    """uint16 where float16 belongs: neither its bits nor those of bf16."""
    if array.dtype == np.uint16:
        raise TypeError(f"{what} is uint16; bits of f16 are x.view(numpy.float16)")


def narrow_type(name, array, what):
    """The type in which functions receive `array` if they compute in "bf16" or "f16"."""
    if name not in ("bf16", "f16"):
        raise ValueError(f'dtype must be "bf16" or "f16" (f32: format="f32"), got "{name}"')
    if array.dtype.kind == "c":
        raise TypeError(f"{what} is {array.dtype}; there are no complex numbers of {name}")
    if name == "f16":
        refuse_bits(array, what)
        return np.dtype(np.float16)
    if array.dtype == np.uint16 or _is_bf16(array.dtype):
        return array.dtype
    try:
        import ml_dtypes
    except ImportError:
        message = f"{what} is {array.dtype}; bf16 is ml_dtypes.bfloat16, which is not installed, or"
        raise TypeError(f"{message} its bits as uint16") from None
    return np.dtype(ml_dtypes.bfloat16)


class Layout:
    """Arrays concatenated in one list. Complex numbers count twice: real, imaginary.
    `handed_over`: the types in which functions receive them, if not float64. `bits`: uint16 is bf16.
    `optional`: whether None stands for zeros, as in a gradient."""

    def __init__(self, arrays, what, handed_over=None, bits=False, optional=False):
        self.arrays = [(array.shape, array.dtype) for array in arrays]
        self.what, self.optional = what, optional
        self.handed_over = handed_over or [dtype for _, dtype in self.arrays]
        self.bits, self.in_f16 = bits, handed_over is not None and not bits
        sizes = [array.size * (2 if array.dtype.kind == "c" else 1) for array in arrays]
        self.ends = np.cumsum(sizes).tolist()
        self.size = self.ends[-1] if sizes else 0

    def name(self, i):
        return self.what if len(self.arrays) == 1 else f"{self.what} {i}"

    def shapes(self):
        """The shapes as the report shows them, with a complex number as a row of two."""
        return [[*shape, 2] if dtype.kind == "c" else list(shape) for shape, dtype in self.arrays]

    def split(self, flat):
        """Views of the list; only arrays of other types are copied."""
        parts = np.split(flat, self.ends[:-1])
        return [
            of_type(part.view(dtype).reshape(shape), given)
            for part, (shape, dtype), given in zip(parts, self.arrays, self.handed_over)
        ]

    def join(self, values):
        """The list of these arrays. Raises TypeError if they have other shapes, because ValueError would
        mean that the function is not defined there."""
        if len(values) != len(self.arrays):
            raise TypeError(f"expected {len(self.arrays)} of {self.what}, got {len(values)}")
        flat = []
        for i, (value, (shape, dtype)) in enumerate(zip(values, self.arrays)):
            if value is None and self.optional:  # no gradient arrives there
                value = np.zeros(shape, dtype)
            shown = as_shown(value, self.name(i))
            if self.in_f16:
                refuse_bits(shown, self.name(i))
            array = as_array(shown, self.name(i), self.bits)
            if array.dtype.kind == "c" and dtype.kind != "c":
                raise TypeError(f"{self.name(i)} must be real, got complex numbers")
            if array.shape != shape and not array.size == 1 == np.prod(shape):
                raise TypeError(f"{self.name(i)} must have the shape {shape}, got {array.shape}")
            flat.append(np.ascontiguousarray(array, dtype).reshape(-1).view(np.float64))
        return flat[0] if len(flat) == 1 else np.concatenate(flat)
