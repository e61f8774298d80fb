"""A template kernel of which a file launches one instance, as that instance."""

from kernelwright.micro.rewrite.cuda_patch import Patch
from kernelwright.micro.rewrite.cuda_pointers import mentions
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda import templates
from kernelwright.source.cuda.definitions import read_apart
from kernelwright.source.cuda.text import field, of_type
from kernelwright.values import Refusal


def instance(sight: CudaSight) -> CudaSight | Refusal:
    """The kernel with the arguments of its one launch in the place of template parameters; as it is where it has none."""
    kernel, launch = sight.kernel, sight.launch
    if not kernel.templates:
        return sight
    if isinstance(launch, Refusal):
        return Refusal(f"The kernel is a template. {launch.reason}", launch.line)
    given = templates.of_launch(sight.file, kernel, launch)
    callee = field(launch.node, "function")
    line = launch.node.start_point.row
    if given is None or callee is None:
        return Refusal("The kernel is a template whose arguments the launch does not say in numbers and types.", line)
    if mentions(sight.file, kernel):
        return Refusal("The kernel is a template that is named elsewhere than in its launch.", line)
    values = dict(zip(kernel.templates, given, strict=True))
    patch = sight.patch().between(kernel.outer.start_byte, kernel.node.start_byte, "").replace(callee, kernel.name)
    for node in of_type(kernel.node, "identifier", "type_identifier"):
        if (name := sight.content(node)) in values:
            patch.replace(node, values[name])
    return sight.rewritten(patch.text)


def without_arguments(sight: CudaSight, text: str) -> str:
    """The text without the locals that were arguments of the template, where nothing reads them any more."""
    launch = sight.launch
    callee = field(launch.node, "function") if not isinstance(launch, Refusal) else None
    made = read_apart(text)
    function = made.function(launch.function.name) if not isinstance(launch, Refusal) else None
    if callee is None or function is None:
        return text
    given = {sight.content(one) for one in of_type(callee, "type_identifier", "identifier")}
    words = [made.source.content(one) for one in of_type(function.body, "identifier", "type_identifier")]
    patch = Patch(made.source)
    for declaration in of_type(function.body, "declaration"):
        names = [field(one, "declarator") for one in of_type(declaration, "init_declarator")]
        name = made.source.content(names[0]) if len(names) == 1 and names[0] is not None else ""
        if name in given and words.count(name) == 1:
            patch.cut(declaration)
    return patch.text
