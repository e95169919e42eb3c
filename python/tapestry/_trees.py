"""Nested containers of arrays, as models hold them: dictionaries, lists, tuples, dataclasses.

A tree is flattened into leaves in the order of its containers, each named by its path: "layers[0].weight".
A value that is not a container is a leaf.
"""

import dataclasses


def _is_dataclass(value):
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def is_container(value):
    return isinstance(value, (dict, list, tuple)) or _is_dataclass(value)


def _field_names(value):
    return [f.name for f in dataclasses.fields(value) if f.init]


def children(value):
    """(suffix of the path, child) of each child of a container."""
    if isinstance(value, dict):
        return [(f"[{key!r}]" if not str(key).isidentifier() else f".{key}", v) for key, v in value.items()]
    if _is_dataclass(value):
        return [(f".{name}", getattr(value, name)) for name in _field_names(value)]
    if _is_namedtuple(value):
        return [(f".{name}", getattr(value, name)) for name in value._fields]
    return [(f"[{i}]", child) for i, child in enumerate(value)]


def rebuilt(value, new):
    """A container like `value` with these children."""
    if isinstance(value, dict):
        return dict(zip(value, new))
    if _is_dataclass(value):
        return dataclasses.replace(value, **dict(zip(_field_names(value), new)))
    if _is_namedtuple(value):
        return type(value)(*new)
    return type(value)(new)


class Tree:
    """The structure of a value: its leaves, their paths, and the way back. `is_leaf` may keep containers
    whole."""

    def __init__(self, value, name="", is_leaf=lambda value: False):
        self.value, self.is_leaf = value, is_leaf
        self.leaves, self.paths = [], []
        self._walk(value, name)

    def _walk(self, value, path):
        if self.is_leaf(value) or not is_container(value):
            self.leaves.append(value)
            self.paths.append(path.removeprefix("."))
            return
        for suffix, child in children(value):
            self._walk(child, path + suffix)

    def unflatten(self, leaves):
        """The same structure with other leaves."""
        remaining = iter(leaves)

        def build(value):
            if self.is_leaf(value) or not is_container(value):
                return next(remaining)
            return rebuilt(value, [build(child) for _, child in children(value)])

        return build(self.value)

    def leaves_of(self, other, what, of="the input"):
        """The leaves of a tree of this structure, in this order. None stands for all leaves below it, and
        keys may be in any order. Raises TypeError if the structures differ. `of`: what has this structure."""
        found = []

        def collect(value, like, path):
            if value is None:
                found.extend([None] * len(Tree(like, is_leaf=self.is_leaf).leaves))
            elif self.is_leaf(like) or not is_container(like):
                found.append(value)
            elif isinstance(like, dict) and isinstance(value, dict):
                unknown = [key for key in value if key not in like]
                if unknown:
                    raise TypeError(f"{what}{path} has the key {unknown[0]!r}, which {of} lacks")
                for (suffix, child), key in zip(children(like), like):
                    collect(value.get(key), child, path + suffix)
            elif is_container(value) and len(children(value)) == len(children(like)):
                for (suffix, child), (_, got) in zip(children(like), children(value)):
                    collect(got, child, path + suffix)
            else:
                raise TypeError(f"{what}{path} must have the structure of {of}, got {type(value).__name__}")

        collect(other, self.value, "")
        return found


def is_array_like(value):
    """A list of numbers, or of such lists, is an array; a list of arrays is not."""
    return isinstance(value, list) and all(
        is_array_like(v) if is_container(v) else not getattr(v, "shape", ()) for v in value
    )


def _is_tree(value):
    return is_container(value) and not is_array_like(value)


def over_trees(f, vjp, inputs):
    """(f, vjp, inputs, names) over a flat tuple of arrays, if some of these inputs or the results of f are
    nested; otherwise the same, and None. A list at the top is an array, as is a list of numbers."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    nested = any(_is_tree(x) and not isinstance(x, list) for x in given) or _is_namedtuple(inputs)
    if _is_namedtuple(inputs):
        given = (inputs,)
    nested = nested or any(isinstance(x, list) and any(map(_is_tree, x)) for x in given)
    names = [""] if len(given) == 1 else [f"input {i}" for i in range(len(given))]
    trees = [Tree(x, name, is_array_like) for x, name in zip(given, names)] if nested else None
    results = []  # the tree of f's results, once it has been called

    def called(*leaves):
        y = f(*(_split(trees, leaves) if nested else leaves))
        if not nested and not isinstance(y, (tuple, list)) and not is_container(y):
            return y
        flat = isinstance(y, (tuple, list)) and not _is_namedtuple(y) and not any(map(_is_tree, y))
        if flat or not is_container(y):
            return y
        if not results:
            results.append(Tree(y, "", is_array_like))
        return tuple(results[0].leaves_of(y, "f(x)", "its first result"))

    def backward(*leaves_and_g):
        *leaves, g = leaves_and_g
        g = results[0].unflatten(g if isinstance(g, tuple) else (g,)) if results else g
        if not nested:
            return vjp(*leaves, g)
        gradient = vjp(*_split(trees, leaves), g)
        several = isinstance(inputs, tuple) and isinstance(gradient, (tuple, list)) and given is inputs
        gradients = gradient if several else (gradient,)
        if len(gradients) != len(given):
            raise TypeError(f"expected {len(given)} of gradient, got {len(gradients)}")
        return [leaf for tree, d in zip(trees, gradients) for leaf in tree.leaves_of(d, "the gradient")]

    if not nested:
        return called, backward, inputs, None
    leaves = tuple(leaf for tree in trees for leaf in tree.leaves)
    return called, backward, leaves, [path for tree in trees for path in tree.paths]


def map_leaves(function, value):
    """A tree, or one array, with function(leaf) instead of every leaf but None."""
    tree = Tree(value, is_leaf=is_array_like)
    return tree.unflatten([None if leaf is None else function(leaf) for leaf in tree.leaves])


def _split(trees, leaves):
    remaining = iter(leaves)
    return [tree.unflatten([next(remaining) for _ in tree.leaves]) for tree in trees]
