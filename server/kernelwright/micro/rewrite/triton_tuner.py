"""What the autotuner above a Triton kernel says: its configurations as far as the file writes them out, and its key."""

import ast
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_configs import Config, ConfigReader
from kernelwright.micro.rewrite.triton_source import Fragment
from kernelwright.source.calls import argument
from kernelwright.values import Refusal


@dataclass(frozen=True)
class Tuner:
    """An autotuner. `configs` is the list (or what makes one) that more can be added to."""

    kernel: Fragment
    call: ast.Call
    configs: ast.expr
    listed: tuple[Config, ...] | None  # None: they come from another file
    key: ast.List | ast.Tuple | None  # where it is written out

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for config in self.listed or () for name in config.words)


def tuner_of(kernel: Fragment) -> Tuner | Refusal:
    call = kernel.reading.autotuner
    if call is None:
        return Refusal("The kernel is not autotuned.", line=kernel.function.lineno - 1)
    configs = argument(call, 0, "configs")
    if configs is None:
        return Refusal("The autotuner's configurations could not be read.", line=call.lineno - 1)
    while True:  # a function around the list has the last word on it, so more goes into the list
        match configs:
            case ast.Call(args=[ast.List() | ast.ListComp() | ast.Name() as inner], keywords=[]):
                configs = inner
            case _:
                break
    key = argument(call, 1, "key")
    listed_key = key if isinstance(key, ast.List | ast.Tuple) else None
    reader = ConfigReader(kernel)
    listed = reader.configs(configs, in_place=True)
    match configs:  # what another file makes
        case ast.Call(args=args, keywords=[]) if listed is None and all(isinstance(arg, ast.Constant) for arg in args):
            if not reader.makes(configs):
                return Tuner(kernel, call, configs, None, listed_key)
        case ast.Name(id=name) if not [*reader.assigned(name)]:
            return Tuner(kernel, call, configs, None, listed_key)
    if not listed:
        where = f"{ast.unparse(configs)[:60]} (line {configs.lineno})"
        return Refusal(f"The autotuner's configurations could not be read from {where}.", line=configs.lineno - 1)
    return Tuner(kernel, call, configs, listed, listed_key)
