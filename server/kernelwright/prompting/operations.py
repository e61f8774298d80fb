"""The operations of an op graph in lines of text."""

from kernelwright.values import Argument, Graph, Node, Region, TensorRef

_MOST = 60


def operations(graph: Graph, region: Region) -> str:
    """One line for each operation that the region's lines make: "%7 = linear(%x: float32[8, 64], %weight) -> float32[8, 32]".

    Those of the whole graph where none comes from the region; "" where there are too many to tell anything.
    """
    lines = range(region.start_line, region.end_line)
    inside = [node for node in graph.nodes if node.where is not None and node.where.start_line in lines]
    nodes = inside or list(graph.nodes)
    if len(nodes) > _MOST:
        return ""
    return "\n".join(_line(graph, node) for node in nodes)


def _line(graph: Graph, node: Node) -> str:
    given = [_argument(graph, one) for one in node.args]
    given += [f"{name}={_argument(graph, one)}" for name, one in node.kwargs.items()]
    results = ", ".join(f"%{id}: {_type(graph, id)}" for id in node.outputs)
    return f"{results} = {node.op}{'_' if node.inplace else ''}({', '.join(given)})"


def _argument(graph: Graph, argument: Argument) -> str:
    if isinstance(argument, TensorRef):
        value = graph.value(argument.id)
        return (
            f"%{argument.id}"
            if value.origin == "node"
            else f"{value.name or value.origin}: {_type(graph, argument.id)}"
        )
    if isinstance(argument, tuple):
        return f"[{', '.join(_argument(graph, one) for one in argument)}]"
    return repr(argument)


def _type(graph: Graph, id: int) -> str:
    type = graph.value(id).type
    return f"{type.dtype}{list(type.shape)}"
