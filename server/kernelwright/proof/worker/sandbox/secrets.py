"""Which environment variables carry a secret, told by their name or by their value. No process with user code has them.

The rules prefer to remove too much: a variable that the user's code needs can be named in `keep`. What is known to be
needed (PATH, HOME, LD_*, CUDA_*, TORCH*, TRITON_*, HF_HOME, TOKENIZERS_PARALLELISM, …) stays; proxies stay too, unless
their address holds a password.
"""

import re
from collections.abc import Collection, Mapping

# Never removed for a KEY or PASS in their name: switches of the tools themselves, such as LLVM_PASS_PLUGIN_PATH.
_TOOLS = re.compile(r"(TORCH[A-Z]*|PYTORCH|TRITON|CUDA|NCCL|LLVM|MLIR)_(?!.*(TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY))")

# A whole word of the name, or the last one: GH_TOKEN, DB_PASSWORD, MY_SECRET_2, WANDB_API_KEY, NPM_AUTH.
_WORD = re.compile(
    r"(^|_)(TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|CREDS|COOKIES?|JWT|BEARER|ASKPASS|AUTH_SOCK"
    r"|(API|ACCESS|PRIVATE|ACCOUNT|SIGNING|ENCRYPTION|SSH)_?KEYS?)(_|$)"
    r"|(^|_)(KEYS?|PASS|PAT|PW|PWD|AUTH|DSN)$"
    r"|(TOKEN|SECRET|PASSWORD|PASSWD|APIKEY)$"
)
# Providers whose variables are about an account, and the sockets of agents that hold keys or act for the user.
_PREFIX = re.compile(
    r"(AWS|AZURE|GOOGLE|GCP|GCLOUD|CLOUDSDK|OCI|OPENAI|ANTHROPIC|CLAUDE|GEMINI|VAULT|KUBE|KUBERNETES|DOCKER|KRB5"
    r"|VSCODE|SSH|GPG|DBUS|ACTIONS)(_|[A-Z0-9]*$)"
)
_NAMES = {"NETRC", "XAUTHORITY", "PGPASSFILE", "PGSERVICEFILE", "BOTO_CONFIG", "KUBECONFIG", "RCLONE_CONFIG"}
_NOT_A_SECRET = re.compile(r"(OLD)?PWD|SSH_(CONNECTION|CLIENT|TTY)|.*_(CA_BUNDLE|CA_CERTS_FILE|REGION)")

_VALUE = re.compile(
    r"://[^/?#\s@:]*:[^/?#\s@]+@"  # a password in an address: a database, a package index, a proxy
    r"|://[^/?#\s@:]{16,}@"  # a token in its place
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\b(gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abp]-|AKIA|npm_|pypi-)[A-Za-z0-9_-]{16,}"
)


KEEP = "KERNELWRIGHT_KEEP_ENVIRONMENT"
"""The variable through which a worker, and the processes that it starts, learn what the user's settings keep."""


def kept(environment: Mapping[str, str]) -> frozenset[str]:
    """The names that the server has put into `KEEP`."""
    return names(environment.get(KEEP, ""))


def names(text: str) -> frozenset[str]:
    """Names of variables, separated by commas or spaces."""
    return frozenset(re.split(r"[\s,]+", text)) - {""}


def scrubbed(environment: Mapping[str, str], keep: Collection[str] = ()) -> dict[str, str]:
    """The environment without its secrets; variables named in `keep` stay as they are."""
    return {name: value for name, value in environment.items() if name in keep or not is_secret(name, value)}


def is_secret(name: str, value: str) -> bool:
    """Whether this variable looks as if it carried a secret, or the way to one."""
    name = name.upper()
    if _VALUE.search(value):
        return True
    if _NOT_A_SECRET.fullmatch(name) or _TOOLS.match(name):
        return False
    return bool(name in _NAMES or _PREFIX.match(name) or _WORD.search(name))
