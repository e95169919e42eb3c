"""Several arrays as one list of float64, and back: what the checker sees, and what functions do."""

import numpy as np


def as_array(value, what):
    """A float64 or complex128 array: of numbers, of an array, of whatever shows its memory (DLPack,
    the buffer protocol), which is not copied if it is of that type. Tensors are detached."""
    if hasattr(value, "detach"):  # PyTorch's, where conjugating is put off until somebody reads
        value = value.detach().cpu().resolve_conj().resolve_neg()
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        value = np.from_dlpack(value)
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{what} is {array.dtype}, not an array of numbers")
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)


class Layout:
    """Which arrays lie one behind the other in a list. Complex numbers count twice: real, imaginary."""

    def __init__(self, arrays, what):
        self.arrays = [(array.shape, array.dtype) for array in arrays]
        self.what = what
        sizes = [array.size * (2 if array.dtype.kind == "c" else 1) for array in arrays]
        self.ends = np.cumsum(sizes).tolist()
        self.size = self.ends[-1] if sizes else 0

    def name(self, i):
        return self.what if len(self.arrays) == 1 else f"{self.what} {i}"

    def shapes(self):
        """As the report shows them, where a complex number is a row of two."""
        return [[*shape, 2] if dtype.kind == "c" else list(shape) for shape, dtype in self.arrays]

    def split(self, flat):
        """Views of the list, in which nothing is copied."""
        parts = np.split(flat, self.ends[:-1])
        return [
            part.view(dtype).reshape(shape)
            for part, (shape, dtype) in zip(parts, self.arrays)
        ]

    def join(self, values):
        """The list of these arrays. Raises TypeError where they are of other shapes: ValueError would
        say that the function is not defined there."""
        if len(values) != len(self.arrays):
            raise TypeError(f"{len(self.arrays)} of {self.what} expected, not {len(values)}")
        flat = []
        for i, (value, (shape, dtype)) in enumerate(zip(values, self.arrays)):
            if value is None:  # nothing arrives there
                value = np.zeros(shape, dtype)
            array = as_array(value, self.name(i))
            if array.dtype.kind == "c" and dtype.kind != "c":
                raise TypeError(f"{self.name(i)} is complex, not real")
            if array.shape != shape and not array.size == 1 == np.prod(shape):
                raise TypeError(f"{self.name(i)} has the shape {array.shape}, not {shape}")
            flat.append(np.ascontiguousarray(array, dtype).reshape(-1).view(np.float64))
        return flat[0] if len(flat) == 1 else np.concatenate(flat)
