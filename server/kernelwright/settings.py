"""Every setting, with its default and its words; the editors' schema and the docs page are generated from here."""

from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T", str, bool, int, float)


def setting(default: T, words: str, *, choices: tuple[str, ...] = (), minimum: float | None = None) -> T:
    """A dataclass field whose metadata documents it."""
    return field(default=default, metadata={"words": words, "choices": choices, "minimum": minimum})


@dataclass(frozen=True)
class Settings:
    interpreter: str = setting("", "Python interpreter that runs your kernels; empty: the one that runs the server.")
    keep_environment: str = setting(
        "",
        "Environment variables that your kernels need although they look like secrets, for example `HF_TOKEN`: names, "
        "separated by commas. All other variables that look like secrets are removed before your code runs.",
    )
    min_gain: float = setting(
        0.02, "Least gain over the previous version for a step to be kept (0.02 is 2 %).", minimum=0.0
    )
    verify_timeout: float = setting(120.0, "Seconds a verification or measurement may take.", minimum=1.0)
    effort: str = setting(
        "standard",
        "How much a verification looks at: quick, the most telling cases only, on which no speedup is shown; standard; or "
        "paranoid, with more seeds, gradients at all boundaries, calls repeated, tensors of more than 2^31 elements where "
        "they fit and calls under NVIDIA's compute-sanitizer, in up to five times verifyTimeout. Steps are taken on standard "
        "at least.",
        choices=("quick", "standard", "paranoid"),
    )
    accept_reduced_accuracy: bool = setting(
        False,
        "Accept kernels that are clearly less accurate than the baseline but within the dtype's usual tolerance, such as a "
        "TF32 or bfloat16 matrix product for a float32 one. They are called reduced accuracy wherever they are shown.",
    )
    strict_non_finite: bool = setting(
        False,
        "Refuse kernels that spread NaN and infinities of the inputs to outputs that the baseline keeps finite, as a prefix "
        "sum does that is written as a product with a matrix. Otherwise they pass, and the verdict says so. Effort paranoid "
        "always refuses them.",
    )
    disabled_strategies: str = setting(
        "",
        "Strategies that are not tried by themselves, for example `torch.channels-last, torch.reassociate`: ids of strategies "
        "or of groups, separated by commas. One that is asked for by name still runs.",
    )
    capture_timeout: float = setting(60.0, "Seconds that capturing the op graph of a module may take.", minimum=1.0)
    timing_budget: float = setting(1.0, "Seconds of repeated runs that one measurement may use.", minimum=0.05)
    threads: int = setting(
        0, "CPU threads that a measurement without a GPU uses; 0: as many as physical cores.", minimum=0
    )
    max_steps: int = setting(6, "Most steps that one autopilot run may take.", minimum=1)
    autopilot_budget: float = setting(
        600.0, "Seconds after which an autopilot run starts no further step.", minimum=1.0
    )
    target: str = setting(
        "", 'GPU that facts are compiled for when there is none here, for example "H200"; empty: H100.'
    )
    model: str = setting(
        "",
        "Language model that writes what no rule can: `litellm:` and a model's name for a hosted or local one, `editor` for "
        "the editor's own, `dir:` and a folder for answers given by hand, `replay:` and a file for recorded ones; empty: none.",
    )
    model_base_url: str = setting("", "Address of the model's server, for one of your own; empty: the provider's.")
    model_key_variable: str = setting(
        "",
        "Environment variable that holds the model's key; empty: the one that the provider's own tools use, and none for a "
        "server of your own (`modelBaseUrl`). A key that the editor keeps comes first.",
    )
    model_temperature: float = setting(
        -1.0, "Temperature that the model is asked with; below 0: the model's own.", minimum=-1.0
    )
    model_order: str = setting(
        "after",
        "When a model is asked for a step that a rule can take, too: after the rule, where that was not kept; before it; or "
        "both, of which the faster one is kept.",
        choices=("after", "before", "both"),
    )
    model_ranks: bool = setting(
        False, "Let the model say which of the strategies that apply to try next, where none was asked for by name."
    )
    model_rounds: int = setting(3, "Most answers that a model is asked for in one step.", minimum=1)
    model_timeout: float = setting(180.0, "Seconds that one answer of a model may take.", minimum=1.0)
    model_tokens_per_step: int = setting(200_000, "Most tokens that one step may take; 0: no limit.", minimum=0)
    model_dollars_per_step: float = setting(1.0, "Most US dollars that one step may cost; 0: no limit.", minimum=0.0)
    model_tokens_per_day: int = setting(
        5_000_000, "Most tokens that a workspace may take in a day (UTC); 0: no limit.", minimum=0
    )
    model_dollars_per_day: float = setting(
        10.0, "Most US dollars that a workspace may cost in a day (UTC); 0: no limit.", minimum=0.0
    )
    model_stays_here: bool = setting(False, "Never send code to a model that is not on this machine.")
    model_log: str = setting(
        "", "File that every question to a model and its answer are added to, to be replayed; empty: none."
    )
    recorded_workloads: str = setting(
        "file",
        "Where workload lines go that were recorded or inferred: into the file, above what they call, or into the journal of "
        "the workspace, so that no file changes. A line in the file wins over one in the journal.",
        choices=("file", "journal"),
    )
    code_lens: bool = setting(True, "Show one line of facts and the action above each kernel.")
    inlay_hints: bool = setting(False, "Show registers, shared memory and occupancy at each kernel's signature.")
    findings: bool = setting(True, "Show findings while you type.")
    verify_on: str = setting(
        "manual",
        "When a kernel with a verified step is verified again: on request, on save, or also after an idle pause.",
        choices=("manual", "save", "idle"),
    )
    idle_seconds: float = setting(2.0, "The idle pause, in seconds, for `verify_on: idle`.", minimum=0.1)


DEFAULTS = Settings()
