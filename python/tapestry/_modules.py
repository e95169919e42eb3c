"""A torch.nn.Module as a function of its parameters and its inputs."""

import torch


class ModuleCall:
    """A call of the module with other tensors as its parameters: takes one for each of `parameters`, then
    the inputs. Buffers are copied for every call, so batch norm's statistics do not change, and random
    numbers (dropout) are the same in every call."""

    def __init__(self, module):
        self.module = module
        held = {}  # id: (name, parameter, [(module, name within it)]): a parameter may be shared
        for path, part in module.named_modules():
            for name, parameter in part._parameters.items():
                if parameter is not None:
                    full = f"{path}.{name}" if path else name
                    held.setdefault(id(parameter), (full, parameter, []))[2].append((part, name))
        self.held = [entry for entry in held.values() if entry[1].requires_grad]
        self.frozen = [name for name, parameter, _ in held.values() if not parameter.requires_grad]
        self.buffers = [name for name, _ in module.named_buffers()]
        self.names = [name for name, _, _ in self.held]
        self.parameters = [parameter for _, parameter, _ in self.held]
        self.random_state = torch.get_rng_state()

    def notes(self):
        """Lines for the report: what is checked, and what is not."""
        lines = [f"checked {len(self.held)} parameters, and all inputs that could have a gradient"]
        if self.frozen:
            lines.append(f"not checked, because they are frozen: {', '.join(self.frozen)}")
        if self.buffers:
            lines.append(f"not checked, because they are buffers: {', '.join(self.buffers)}")
        return lines

    def __call__(self, *arguments):
        given, inputs = arguments[: len(self.held)], arguments[len(self.held) :]
        before = torch.get_rng_state()
        torch.set_rng_state(self.random_state)
        restore = []
        try:
            self._swap_buffers(given[0].dtype if given else None, restore)
            self._swap_parameters(given, restore)
            return self.module(*inputs)
        finally:
            for undo in reversed(restore):
                undo()
            torch.set_rng_state(before)

    def _swap_parameters(self, given, restore):
        for (_, own, places), tensor in zip(self.held, given):
            for part, name in places:
                part._parameters[name] = tensor
                restore.append(lambda p=part, n=name, own=own: p._parameters.__setitem__(n, own))
        for part in self.module.modules():
            if hasattr(part, "_flat_weights_names"):  # recurrent layers have another list
                restore.append(lambda p=part, flat=part._flat_weights: setattr(p, "_flat_weights", flat))
                part._flat_weights = [getattr(part, name) for name in part._flat_weights_names]

    def _swap_buffers(self, dtype, restore):
        own = self.parameters[0].dtype if self.parameters else None
        for part in self.module.modules():
            for name, buffer in part._buffers.items():
                if buffer is None:
                    continue
                follows = buffer.is_floating_point() and buffer.dtype == own
                part._buffers[name] = buffer.detach().clone().to(dtype if follows else buffer.dtype)
                restore.append(lambda p=part, n=name, b=buffer: p._buffers.__setitem__(n, b))
