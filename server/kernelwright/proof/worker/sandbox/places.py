"""Which places of the machine a confined process may read and write.

Landlock only knows what is allowed. So reading is allowed on every entry of a folder on the way to a hidden place, apart
from that place; what appears in such a folder later, beside the hidden place, cannot be read.
"""

import glob
import os
import pwd
from collections.abc import Collection, Iterable, Iterator

_DEVICES = ("null", "zero", "full", "random", "urandom", "shm")
_GPU_DEVICES = ("nvidia*", "dxg", "nvhost*", "nvmap")  # on a server, under Windows, on a Jetson

# Below the home folder: keys, tokens, browser profiles, histories of shells.
_IN_HOME = (
    *(".ssh", ".gnupg", ".password-store", ".netrc", "_netrc", ".vault-token", ".local/share/keyrings"),
    *(".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli"),
    *(".aws", ".azure", ".oci", ".boto", ".s3cfg", ".config/gcloud", ".config/rclone", ".config/doctl"),
    *(".kube", ".docker", ".config/containers", ".terraform.d", ".databrickscfg", ".modal.toml", ".ngc"),
    *(".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".kaggle", ".config/kaggle"),
    *(".claude", ".claude.json", ".codex", ".gemini", ".config/github-copilot", ".config/openai"),
    *(".npmrc", ".yarnrc.yml", ".pypirc", ".config/pypoetry/auth.toml", ".m2/settings.xml"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gradle/gradle.properties"),
    *(".pgpass", ".my.cnf", ".mylogin.cnf", ".Xauthority", ".ICEauthority", ".local/share/kwalletd"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *(".config/microsoft-edge", ".config/vivaldi", ".config/opera", "snap/firefox", "snap/chromium", ".var/app"),
    *(".config/Code", ".config/Code - Insiders", ".config/VSCodium", ".config/Cursor", ".vscode-server/data"),
    *(".bash_history", ".zsh_history", ".psql_history", ".local/share/fish/fish_history"),
)
_ELSEWHERE = (
    *("/etc/shadow*", "/etc/gshadow*", "/etc/sudoers*", "/etc/ssh", "/etc/ssl/private", "/etc/krb5.keytab"),
    *("/etc/kubernetes", "/run/secrets", "/var/run/secrets", "/tmp/krb5cc_*"),
    "/dev",  # disks and memory, for root; what is needed of it is allowed by `devices`
)


def credentials() -> set[str]:
    """The places that hold credentials and that exist, absolute and without links."""
    homes = {os.path.expanduser("~"), _home_of_the_account()} - {"", "/", "~"}
    named = [os.path.join(home, name) for home in homes for name in _IN_HOME]
    elsewhere = [found for pattern in _ELSEWHERE for found in glob.glob(pattern)]
    return set(real(place for place in (*named, *elsewhere) if os.path.lexists(place)))


def readable(hidden: Collection[str]) -> Iterator[str]:
    """Every place that is as high in the tree as it can be and has none of `hidden` (absolute, no links) beneath it."""
    yield from _around(set(hidden), {parent for place in hidden for parent in _parents(place)}, "/")


def devices() -> Iterator[str]:
    """What a program that computes writes to beside files: the usual devices, shared memory, the GPU's own."""
    for pattern in (*_DEVICES, *_GPU_DEVICES):
        yield from glob.glob(f"/dev/{pattern}")


def real(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The paths absolute and without links."""
    return [os.path.realpath(path) for path in paths]


def _around(hidden: set[str], parents: set[str], folder: str) -> Iterator[str]:
    on_the_way = {os.path.basename(parent) for parent in parents if os.path.dirname(parent) == folder}
    try:
        names = on_the_way.union(os.listdir(folder))
    except OSError:
        names = on_the_way  # a folder of homes that only its owner may list
    for name in names:
        path = os.path.join(folder, name)
        if path in parents:
            yield from _around(hidden, parents, path)
        elif path not in hidden:
            yield path


def _parents(place: str) -> Iterator[str]:
    while (place := os.path.dirname(place)) != "/":
        yield place


def _home_of_the_account() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""  # an account without an entry, as in many containers
