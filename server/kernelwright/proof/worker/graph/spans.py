"""Which expression of the user's file is running: code positions of a frame as lines from 0 and code-point columns."""

import itertools
from types import FrameType

import torch

from kernelwright.values import CodeSpan


def user_frame(frame: FrameType | None, filename: str) -> FrameType | None:
    """The innermost frame that runs code of `filename`."""
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    return frame


def span_of(frame: FrameType, lines: tuple[str, ...]) -> CodeSpan | None:
    """The expression that `frame` is evaluating; None where the interpreter has no positions for it."""
    positions = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    start_line, end_line, start_byte, end_byte = positions
    if start_line is None or end_line is None or start_byte is None or end_byte is None:
        return None
    return CodeSpan(
        start_line - 1,
        code_points(lines, start_line - 1, start_byte),
        end_line - 1,
        code_points(lines, end_line - 1, end_byte),
    )


def code_points(lines: tuple[str, ...], line: int, byte_column: int) -> int:
    """The column in code points of a column in UTF-8 bytes."""
    if line >= len(lines):
        return byte_column
    return len(lines[line].encode("utf-8", "surrogatepass")[:byte_column].decode("utf-8", "ignore"))


def innermost_module(frame: FrameType | None, paths: dict[int, str], filename: str) -> str:
    """The path of the innermost submodule at work between `frame` and the user's file ("" is the module itself)."""
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, torch.nn.Module) and id(owner) in paths:
            return paths[id(owner)]
        if frame.f_code.co_filename == filename:
            return ""
        frame = frame.f_back
    return ""
