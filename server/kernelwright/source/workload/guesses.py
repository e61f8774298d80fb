"""What can be given to the parameters of an entry: tensors, of which ranks, sizes and dtypes, and other values."""

import ast
from collections.abc import Iterator, Mapping

from kernelwright.source.workload import masks
from kernelwright.source.workload.guessing import (
    AXIS,
    CLASS,
    CONDITION,
    FLAG,
    FRACTION,
    HIDDEN_STATES,
    INDEX,
    LENGTHS,
    LONGEST,
    NOTHING,
    OF_BATCH,
    OF_OPERATORS,
    OF_ROWS,
    OF_SEQUENCES,
    ONE_MORE,
    SEVERAL,
    SHAPE,
    SIZE,
    STARTS,
    VECTOR,
    Choice,
    known_size,
    scalar,
    sequence,
)
from kernelwright.source.workload.signature import Parameters
from kernelwright.source.workload.sizes import Sizes
from kernelwright.source.workload.told import Evidence, Term, Told

_BY_RANK = {0: (), 1: (1 << 20,), 2: (4096, 1024), 3: (8, 512, 1024), 4: (8, 16, 512, 64), 5: (2, 8, 16, 64, 64)}
_OF_TOKENS = {2: (512, 1024), 3: (512, 16, 64), 4: (8, 64, 16, 64)}  # of sequences one behind the other
_RANKS = (2, 3, 4, 1)
_EQUAL = {4: 32, 5: 16}  # the size of all dimensions where they are equal, by the most that a tensor has; else 64
# Where kernels need whole blocks or rows, and the interpreter bears no more.
FEW = {
    "small": (1, 1, 2, 2, 2, 2, 128, 64),
    "rows": (1, 1, 1, 1, 1, 2, 16, 1024),
    "long": (1, 1, 1, 1, 1, 1, 2, 16384),  # for kernels that take over where one block is too short
}
_HEAD = 64  # what one head has of the hidden dimension
_BATCH, _LENGTH = 8, 64  # sequences that lie one behind the other, and tokens of each


class Guesses:
    """What can be given to the parameters, by what was told of them; `namespaces` are given as they are written."""

    def __init__(self, parameters: Parameters, evidence: Evidence, namespaces: Mapping[str, str]) -> None:
        self.parameters = parameters
        self._evidence = evidence
        self._namespaces = namespaces
        for one, other in (*evidence.same_shape, *evidence.same_rank) * 2:  # a chain of them, in either order
            rank = evidence.of[one].rank or evidence.of[other].rank
            evidence.of[one].rank = evidence.of[other].rank = rank
        self._annotations = {p.arg: ast.unparse(p.annotation) if p.annotation else "" for p, _ in parameters.all()}
        self._tensors = [p.arg for p, default in parameters.all() if self._is_tensor(p, default)]
        self._masks = {
            p.arg: found
            for p, default in parameters.all()
            if p.arg in self._tensors
            and (found := masks.forms(parameters.tree, p, evidence.of[p.arg], required=default is None))
        }
        asked = [kind for name in self._tensors for kind in evidence.of[name].dtypes if "float" in kind]
        self.dtypes = list(dict.fromkeys(kind for kind in asked if "float8" not in kind)) or [
            "float32",
            "float16",
            "bfloat16",
        ]

    def tensors(self) -> Iterator[tuple[str, Told]]:
        return ((name, self._evidence.of[name]) for name in self._given())

    @property
    def optional(self) -> set[str]:
        """Tensors that are None where they are left out."""
        return {p.arg for p, default in self.parameters.all() if p.arg in self._tensors and is_nothing(default)}

    def _given(self, optional: bool = False) -> list[str]:
        """The tensors that are given: those that have a default are left out, or only those that are not `optional`."""
        left_out = {p.arg for p, default in self.parameters.all() if default is not None} - (
            self.optional if optional else set()
        )
        return [name for name in self._tensors if name not in left_out]

    @property
    def has_sequences(self) -> bool:
        return any(LENGTHS.match(name) or STARTS.match(name) for name in self._given())

    def _is_tensor(self, parameter: ast.arg, default: ast.expr | None) -> bool:
        name, told = parameter.arg, self._evidence.of[parameter.arg]
        annotation = self._annotations[name]
        if name in self._namespaces:
            return False
        if annotation:
            return "Tensor" in annotation and not SEVERAL.search(annotation)
        if told.is_tensor or told.rank:
            return True
        if told.is_sequence or SHAPE.match(name) or OF_OPERATORS.match(name):
            return False
        if told.is_number or NOTHING.match(name):
            return False
        if default is None and OF_BATCH.match(name):
            return True
        if default is not None or "eps" in name or "dtype" in name or FLAG.match(name) or FRACTION.match(name):
            return False
        if told.options or LONGEST.match(name) or AXIS.match(name):
            return False
        return name in ("b", "k") or not SIZE.match(name)

    def _is_whole(self, name: str) -> bool:
        told, annotation = self._evidence.of[name], self._annotations[name]
        if told.dtypes:
            return not any("float" in kind for kind in told.dtypes)
        if told.is_bits or CONDITION.match(name):
            return True
        named = INDEX.match(name) or LENGTHS.match(name) or STARTS.match(name)
        return told.is_index or bool(named) or "Long" in annotation or "IntTensor" in annotation

    def ranks(self, name: str) -> list[int]:
        """How many dimensions a tensor may have whose rank nobody tells, the likeliest first."""
        told = self._evidence.of[name]
        if told.ranks:
            return list(dict.fromkeys(told.ranks))
        if HIDDEN_STATES.match(name) and told.least <= 3:
            return [3, *(rank for rank in _RANKS if rank >= told.least and rank != 3)]
        if told.least > 1:
            return [told.least, told.least + 1]
        most = max(other.rank or other.least for other in self._evidence.of.values()) if told.is_product else 0
        if most > 2:  # what is multiplied with others often is in as many batches
            return [most, *(rank for rank in _RANKS if rank >= told.least and rank != most)]
        return [rank for rank in _RANKS if rank >= told.least]

    def values(self, parameter: ast.arg, default: ast.expr | None) -> list[str]:
        """What may be given to a parameter that is no tensor; the first is the usual one, "" leaves it out.

        "2 tensors" stands for a tuple of them.
        """
        if parameter.arg in self._tensors:
            return [*self._masks.get(parameter.arg, ("",))]
        if parameter.arg in self._namespaces:
            return [self._namespaces[parameter.arg]]
        told = self._evidence.of[parameter.arg]
        if several := SEVERAL.search(self._annotations[parameter.arg]):
            tensors = f"{several[1].count('Tensor')} tensors"
            return [tensors] if default is None else ["", tensors]
        if told.is_sequence or (told.items and is_nothing(default)):
            values = sequence(parameter.arg, told.items)
            return values if default is None else ["", *values]
        values = scalar(parameter, told.options)
        if default is None:
            return values or [""]
        written = repr(default.value) if isinstance(default, ast.Constant) else ""
        if isinstance(default, ast.Constant) and isinstance(default.value, bool):
            values = ["False", "True"]
        return ["", *(value for value in values if value != written and value not in ("1e-06", "0.5", "''"))]

    def arguments(self, choice: Choice, last: int | None) -> list[str]:
        shapes, sizes = self._shapes(choice, last)
        ends = next((shape[-1] for name, shape in shapes.items() if shape and not self._is_whole(name)), None)
        given = []
        for parameter, default in self.parameters.all():
            name = parameter.arg
            if self._form(name, choice) == masks.NONE:
                value = masks.NONE
            elif name in self._namespaces:
                value = self._namespaces[name]
            elif name in shapes:
                value = self._tensor(name, shapes[name], shapes, choice)
            elif default is not None and (name not in choice or name in self._tensors):
                continue
            elif SEVERAL.search(self._annotations[name]):
                value = self._several(int(self.values(parameter, default)[-1].split()[0]), shapes, choice)
            elif name in choice and not ((self._evidence.of[name].is_shape or SHAPE.match(name)) and ends):
                value = choice[name]
            else:
                value = self._number(parameter, sizes, choice, ends)
            by_name = default is not None or parameter in self.parameters.tree.args.kwonlyargs
            given.append(f"{name}={value}" if by_name else value)
        return given

    def _form(self, name: str, choice: Choice) -> str:
        """Which mask a parameter is given, "" where it is as any tensor."""
        return choice.get(name, self._masks[name][0]) if name in self._masks else ""

    def _several(self, count: int, shapes: Mapping[str, tuple[int, ...]], choice: Choice) -> str:
        """Tensors that are given together, as sines and cosines are: for each token what one head takes."""
        first = next((shape for name, shape in shapes.items() if shape and not self._is_whole(name)), (1,))
        kind = choice.get("dtype", self.dtypes[0])
        option = "" if kind == "float32" else f", dtype={kind}"
        made = f"randn({', '.join(map(str, (*first[:-1], _HEAD)))}{option})"
        return f"({', '.join([made] * count)}{',' * (count == 1)})"

    def _number(self, parameter: ast.arg, sizes: Sizes, choice: Choice, last: int | None) -> str:
        """`last`: the size of the last dimension of the first tensor."""
        name = parameter.arg
        if (size := sizes.get(name)) is not None:
            return str(size)
        told = self._evidence.of[name]
        if (told.is_shape or SHAPE.match(name)) and last is not None:
            return f"({last},)"
        if told.is_sequence:
            return sequence(name, told.items)[0]
        if values := scalar(parameter, self._evidence.of[name].options):
            return values[0]
        if LONGEST.match(name):
            return {"sequences": str(_LENGTH), "equal": "1"}.get(choice.get("sizes", ""), "1024")
        return known_size(name, choice)

    def _shapes(self, choice: Choice, last: int | None) -> tuple[dict[str, tuple[int, ...]], Sizes]:
        """The sizes of all tensors, which are equal where they have to be."""
        evidence, given = self._evidence, self._given(choice.get("optional") == "given")
        given = [name for name in given if self._form(name, choice) != masks.NONE]
        ranks: dict[str, int] = {}
        like: dict[str, str] = {}
        first: str | None = None
        for one, other in evidence.same_shape:
            if one in given and other in given:
                like[max(one, other, key=given.index)] = min(one, other, key=given.index)
        in_order = sorted(given, key=self._masks.__contains__)  # masks last
        for name in in_order:
            mask = self._mask(name, first, {one: (1,) * rank for one, rank in ranks.items()}, choice)
            ranks[name] = (
                self._rank(name, ranks.get(first) if first else None, choice, like, ranks)
                if mask is None
                else len(mask)
            )
            is_first = not self._is_whole(name) and name not in self._masks
            first = first or (name if is_first or len(given) == 1 else None)
        sizes = Sizes()

        def place(term: Term) -> Term:
            """An axis that is counted from the end, from the beginning."""
            counted = isinstance(term, tuple) and ranks.get(term[0], 0)
            return (term[0], term[1] % counted) if isinstance(term, tuple) and counted else term

        for term, equal in evidence.equal:
            sizes.join(place(term), place(equal))
        for one, other in like.items():
            for axis in range(ranks[one]):
                sizes.join((one, axis), (other, axis))
        if choice.get("sizes") == "sequences":
            self._sequences(ranks, sizes)
        products = [(place(term), place(one), place(other)) for term, one, other in evidence.products]
        for term, values in evidence.values:
            sizes.put(place(term), _LENGTH if _LENGTH in values else sorted(values)[len(values) // 2])
        factors = {term for _, one, other in products for term in (one, other) if isinstance(term, str)}
        for parameter, default in self.parameters.all():
            if default is None and parameter.arg in factors and sizes.get(parameter.arg) is None:
                sizes.put(parameter.arg, int(known_size(parameter.arg, {"sizes": "equal"})))
        side = _EQUAL.get(max(ranks.values(), default=0), 64)
        product = sum(evidence.of[name].is_product for name in given) >= 2
        shapes: dict[str, tuple[int, ...]] = {}
        for name in [*filter(None, (first,)), *(name for name in in_order if name != first)]:
            rank, mask = ranks[name], self._mask(name, first, shapes, choice)
            usual = self._usual(name, rank, shapes.get(first or ""), choice, product)
            if choice.get("sizes") == "equal":
                usual = (side,) * rank
            elif choice.get("sizes") in FEW:
                usual = FEW[choice["sizes"]][8 - rank :]
            if mask is not None:
                usual = mask
            elif last is not None and rank and not self._is_whole(name):
                usual = (*usual[:-1], last)
            shape = []
            for axis in range(rank):
                for term, factor, part in products:
                    sizes.multiply(term, factor, part)
                shape.append(sizes.put((name, axis), usual[axis]))
            shapes[name] = tuple(shape)
        return {name: shapes[name] for name in given}, sizes

    def _mask(
        self, name: str, first: str | None, shapes: Mapping[str, tuple[int, ...]], choice: Choice
    ) -> tuple[int, ...] | None:
        """The shape of a mask by those of other tensors; None where it is as any tensor."""
        if name not in self._masks or any(name in pair for pair in self._evidence.same_shape):
            return None
        base = first or next((one for one in shapes if one not in self._masks), None)
        of_tokens = base is not None and self._is_whole(base)
        found = masks.shape(self._form(name, choice), shapes.get(base or ""), of_tokens=of_tokens)
        return found if found and self._evidence.of[name].rank in (0, len(found)) else None

    def _rank(
        self, name: str, first: int | None, choice: Choice, like: Mapping[str, str], ranks: Mapping[str, int]
    ) -> int:
        told = self._evidence.of[name]
        if told.rank:
            return told.rank
        if name in like:
            return ranks[like[name]]
        if f"rank {name}" in choice:
            return int(choice[f"rank {name}"])
        if told.ranks:
            return first if first in told.ranks else told.ranks[0]
        if LENGTHS.match(name) or STARTS.match(name) or OF_SEQUENCES.match(name):
            return max(told.least, 1)
        if told.is_index and told.least <= 1 and not CLASS.match(name):
            return 1
        if first is not None and told.least <= first:
            if VECTOR.match(name):
                return max(told.least, 2 if told.is_product else 1)
            if CLASS.match(name) or OF_ROWS.match(name):
                return max(told.least, first - 1)
            return told.least if told.least > 1 else 2 if told.is_product and first == 2 else first
        return self.ranks(name)[0] if told.least < 2 or HIDDEN_STATES.match(name) else told.least

    def _usual(
        self, name: str, rank: int, first: tuple[int, ...] | None, choice: Choice, product: bool
    ) -> tuple[int, ...]:
        if first is not None and rank <= len(first):
            if product and rank == 2:
                return (first[-1], 1024 if self._evidence.of[name].rank else first[-1])
            if rank == len(first):
                return first
            other = choice.get("lower") == "prefix"
            lower = CLASS.match(name) or self._is_whole(name) or bool(OF_ROWS.match(name)) is not other
            return first[:rank] if lower else first[len(first) - rank :]
        if product and rank == 2:
            return (1024, 1024)
        table = _OF_TOKENS if choice.get("sizes") == "sequences" else _BY_RANK
        return table.get(rank) or _BY_RANK.get(rank, (4,) * rank)

    def _sequences(self, ranks: Mapping[str, int], sizes: Sizes) -> None:
        """Sequences that lie one behind the other in the leading dimension of what they are made of."""
        for name, rank in ranks.items():
            if not rank:
                continue
            if rank == 1 and (LENGTHS.match(name) or STARTS.match(name) or OF_SEQUENCES.match(name)):
                sizes.put((name, 0), _BATCH + bool(ONE_MORE.match(name)))
            elif not self._is_whole(name) and rank > 1:
                sizes.put((name, 0), _BATCH * _LENGTH)

    def _tensor(self, name: str, shape: tuple[int, ...], shapes: Mapping[str, tuple[int, ...]], choice: Choice) -> str:
        told, written = self._evidence.of[name], ", ".join(map(str, shape))
        if mask := masks.written(self._form(name, choice), written):
            return mask
        if not self._is_whole(name):
            kind = next((k for k in told.dtypes if "float8" in k), choice.get("dtype", self.dtypes[0]))
            made = written if kind == "float32" else f"{written}, dtype={kind}"
            made += ", layout=transposed" if choice.get("transposed") == name and len(shape) > 1 else ""
            return f"out({made})" if told.is_written and not told.is_read else f"randn({made})"
        asked = next(iter(told.dtypes), "bool" if CONDITION.match(name) else "int32" if told.is_bits else None)
        kind = f", dtype={asked}" if asked not in (None, "int64") else ""
        equal = choice.get("sizes") == "equal"
        if told.is_written and not told.is_read:
            return f"out({written}, dtype={asked or 'int64'})"
        if asked == "bool":
            return f"ones({written}, dtype=bool)"
        if asked in ("int8", "uint8") and not told.is_index:
            return f"randint(0, 127, {written}{kind})"
        if len(shape) == 1 and STARTS.match(name):
            step = 1 if equal else _LENGTH
            return f"arange(0, {shape[0] * step}, {step}, dtype={asked or 'int32'})"
        if LENGTHS.match(name):
            return f"full(({written},), {1 if equal else _LENGTH}, dtype={asked or 'int32'})"
        if len(shape) == 1 and (equal or told.is_place or OF_SEQUENCES.match(name)):
            return f"randperm({written}{kind})"
        limits = [size for other, found in shapes.items() if not self._is_whole(other) for size in found if size > 1]
        return f"randint(0, {min(limits, default=2)}, {written}{kind})"


def is_nothing(default: ast.expr | None) -> bool:
    return isinstance(default, ast.Constant) and default.value is None
