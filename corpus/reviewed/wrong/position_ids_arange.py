"""Position ids taken for 0..S-1."""
# workload: f(randint(0, 50, 2, 24), arange(24), randn(50, 40), randn(24, 40))
# expected: refused

# %% baseline
import torch
import torch.nn as nn
import torch.nn.functional as F


def f(ids, pos_ids, table, pos):
    return table[ids] + pos[pos_ids]

# %% candidate
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(ids, table, pos, y, S, D, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < D
    v = tl.load(table + tl.load(ids + t) * D + i, mask=m) + tl.load(pos + (t % S) * D + i, mask=m)
    tl.store(y + t * D + i, v, mask=m)


def f(ids, pos_ids, table, pos):
    ids, table, pos = ids.contiguous(), table.contiguous(), pos.contiguous()
    B, S = ids.shape
    y = torch.empty((B, S, table.shape[1]), device=ids.device)
    kernel[(B * S,)](ids, table, pos, y, S, table.shape[1], BLOCK=triton.next_power_of_2(table.shape[1]))
    return y
