"""Finds the wrong torch.autograd.Function in a graph: walks the graph of the results, records the arguments
of every Function in it, and checks each call alone."""

import contextlib

import torch

_MOST = 64  # calls that are judged


class Graph:
    """The graph behind these tensors: the classes of its torch.autograd.Functions, and the ids of the leaves
    that it leads to."""

    def __init__(self, results):
        self.leaves = set()
        seen, functions = set(), {}
        remaining = [y.grad_fn for y in results if y.grad_fn is not None]
        while remaining:
            node = remaining.pop()
            if node in seen:
                continue
            seen.add(node)
            owner = getattr(type(node), "_forward_cls", None)
            if owner is not None:
                functions[owner] = True
            if hasattr(node, "variable"):
                self.leaves.add(id(node.variable))
            remaining.extend(following for following, _ in node.next_functions if following is not None)
        self.functions = list(functions)


class Call:
    """One call of a Function: its class, its arguments, and the modules it was made in."""

    def __init__(self, function, arguments, path):
        self.function, self.path = function, path
        self.arguments = tuple(
            a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a
            for a in arguments
        )


def _has_context(function):
    """forward(ctx, ...), not forward(...) with setup_context."""
    own = getattr(torch.autograd.Function, "setup_context", None)
    return own is None or function.setup_context is own


@contextlib.contextmanager
def _recording(functions, module, calls):
    """Within it, the outermost calls of these classes are appended to `calls`. `apply` looks up `forward`
    in the class each time, so also a reference to `apply` that was taken earlier is recorded."""
    depth, path = [0], []
    restore, hooks = [], []

    def recorder(function, own):
        def forward(*arguments):
            if depth[0] == 0 and len(calls) < _MOST:
                given = arguments[1:] if _has_context(function) else arguments
                calls.append(Call(function, given, path[-1] if path else ""))
            depth[0] += 1
            try:
                return own(*arguments)
            finally:
                depth[0] -= 1

        return staticmethod(forward)

    try:
        for function in functions:
            restore.append((function, function.__dict__.get("forward")))
            function.forward = recorder(function, function.forward)
        for name, part in module.named_modules() if module is not None else ():
            hooks.append(part.register_forward_pre_hook(lambda *_, name=name: path.append(name)))
            hooks.append(part.register_forward_hook(lambda *_: path.pop() and None))
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for function, own in restore:
            if own is None:
                del function.forward
            else:
                function.forward = own


def _description(call, number, of_class):
    name = call.function.__name__
    which = f" (call {number} of {of_class})" if of_class > 1 else ""
    return f"{name}{which}{', in ' + call.path if call.path else ''}"


class Culprit:
    """The first Function that is wrong by itself: `name`, and its own `report`. `others`: further ones."""

    def __init__(self, name, report):
        self.name, self.report, self.others = name, report, []


def not_reached(subject):
    """The indices of the inputs that the graph of the results does not lead to."""
    leaves, results = subject.run(subject.x.copy())
    reached = Graph(results).leaves
    return [i for i, leaf in enumerate(leaves) if id(leaf) not in reached]


def find(subject, check, module=None):
    """(the culprit or None, lines for the report). `check(function, arguments)` judges one Function."""
    leaves, results = subject.run(subject.x.copy())
    graph = Graph(results)
    functions = graph.functions
    lines = []
    lost = [i for i, leaf in enumerate(leaves) if id(leaf) not in graph.leaves]
    if not functions:
        return None, lines, lost
    calls = []
    with _recording(functions, module, calls):
        subject.run(subject.x.copy())
    counts, culprit, right = {}, None, 0
    totals = {f: sum(c.function is f for c in calls) for f in functions}
    for call in calls:
        counts[call.function] = number = counts.get(call.function, 0) + 1
        try:
            report = check(call.function, call.arguments)
        except Exception:  # no argument that could have a gradient, or it cannot be called alone
            continue
        if report.verdict != "FAIL":
            right += report.verdict == "PASS"
            continue
        name = _description(call, number, totals[call.function])
        if culprit is None:
            culprit = Culprit(name, report)
        else:
            culprit.others.append(name)
    if culprit is None and right:
        lines.append(
            f"{right} of {len(calls)} calls of {', '.join(f.__name__ for f in functions)} are right by themselves: "
            "look for a detach(), .data, a hook, or a change in place between them"
        )
    return culprit, lines, lost
