"""Which variables are told to be secrets, and that a worker has none of them."""

import sys
from pathlib import Path

import pytest

from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Capture, Subject, Trial, TrialResult
from kernelwright.proof.worker.sandbox.secrets import is_secret, scrubbed
from kernelwright.values import Case, Graph, Workload, WorkloadSource


@pytest.mark.parametrize(
    "name",
    [
        *("GITHUB_TOKEN", "GH_TOKEN", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "CI_JOB_TOKEN", "TOKEN", "VAULT_TOKEN"),
        *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "WANDB_API_KEY", "NVIDIA_API_KEY", "NGC_API_KEY", "my_api_key"),
        *("OPENAI_ORGANIZATION", "ANTHROPIC_BASE_URL", "AZURE_CLIENT_ID", "GOOGLE_APPLICATION_CREDENTIALS"),
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "R2_ACCESS_KEY_ID"),
        *("DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "DB_PASS", "LDAP_PASS", "SSHPASS", "KEY_PASSPHRASE"),
        *(
            "CLIENT_SECRET",
            "SECRET_KEY_BASE",
            "DJANGO_SECRET",
            "MYSECRET",
            "SIGNING_KEY",
            "DEPLOY_KEY",
            "SESSION_COOKIE",
        ),
        *(
            "SSH_AUTH_SOCK",
            "SSH_ASKPASS",
            "GIT_ASKPASS",
            "VSCODE_GIT_IPC_HANDLE",
            "VSCODE_IPC_HOOK_CLI",
            "GPG_AGENT_INFO",
        ),
        *(
            "KUBECONFIG",
            "DOCKER_HOST",
            "DOCKER_CONFIG",
            "NETRC",
            "KRB5CCNAME",
            "DBUS_SESSION_BUS_ADDRESS",
            "XAUTHORITY",
        ),
        *("SENTRY_DSN", "NPM_AUTH", "AZDO_PAT", "TORCH_HUB_TOKEN", "TRITON_API_KEY", "CUDA_REPO_PASSWORD"),
    ],
)
def test_a_secret_by_its_name(name: str) -> None:
    assert is_secret(name, "x")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "postgres://me:hunter2@db/x"),
        ("HTTPS_PROXY", "http://me:hunter2@proxy:3128"),
        ("https_proxy", "http://:hunter2@proxy:3128"),
        ("PIP_INDEX_URL", "https://0123456789abcdef0123@packages.example/simple"),
        ("SETTINGS", "a=1 -----BEGIN RSA PRIVATE KEY-----"),
        ("OTHER", "ghp_0123456789abcdefghij"),
        ("OTHER", "sk-proj-0123456789abcdefghij"),
    ],
)
def test_a_secret_by_its_value(name: str, value: str) -> None:
    assert is_secret(name, value)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "PWD", "OLDPWD", "TZ"),
        *("PYTHONPATH", "PYTHONHOME", "PYTHONHASHSEED", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH", "LD_PRELOAD"),
        *(
            "CUDA_VISIBLE_DEVICES",
            "CUDA_HOME",
            "CUDA_MPS_PIPE_DIRECTORY",
            "CUDA_MODULE_LOADING",
            "CUDACXX",
            "CC",
            "CXX",
        ),
        *("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_TF32_OVERRIDE", "NCCL_DEBUG", "MAX_JOBS"),
        *("TORCH_HOME", "TORCH_CUDA_ARCH_LIST", "PYTORCH_CUDA_ALLOC_CONF", "TORCHINDUCTOR_CACHE_DIR", "TORCH_LOGS"),
        *(
            "TORCH_COMPILE_STICKY_PGO_KEY",
            "TRITON_CACHE_DIR",
            "TRITON_PTXAS_PATH",
            "TRITON_HOME",
            "LLVM_PASS_PLUGIN_PATH",
        ),
        *("HF_HOME", "HF_HUB_OFFLINE", "TRANSFORMERS_CACHE", "TOKENIZERS_PARALLELISM", "XDG_CACHE_HOME"),
        *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "KMP_AFFINITY", "OPENBLAS_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG"),
        *(
            "SSL_CERT_FILE",
            "REQUESTS_CA_BUNDLE",
            "AWS_CA_BUNDLE",
            "KEYBOARD",
            "DISPLAY",
            "SSH_CONNECTION",
            "SLURM_JOB_ID",
        ),
    ],
)
def test_what_compilers_and_torch_need_stays(name: str) -> None:
    assert not is_secret(name, "/some/where:1")


def test_a_proxy_without_a_password_stays() -> None:
    environment = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "localhost,10.0.0.0/8"}
    assert scrubbed(environment) == environment


def test_what_is_named_stays() -> None:
    environment = {"HF_TOKEN": "hf_x", "GH_TOKEN": "ghp_x", "LANG": "C"}
    assert scrubbed(environment, keep=["HF_TOKEN"]) == {"HF_TOKEN": "hf_x", "LANG": "C"}


async def test_user_code_in_a_worker_finds_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2")
    monkeypatch.setenv("SOME_VARIABLE", "kept")
    monkeypatch.setenv("HF_TOKEN", "named in the settings")
    text = """if True:
        import os
        assert os.environ["SOME_VARIABLE"] == "kept"
        assert os.environ["HF_TOKEN"] == "named in the settings"
        assert "OPENAI_API_KEY" not in os.environ
        assert b"hunter2" not in open("/proc/self/environ", "rb").read()
        def f(x):
            return x + 1
    """
    workload = Workload(WorkloadSource.LINES, "f", (Case(0, 0, "f(randn(4))"),))
    subject = Subject("/tmp/subject.py", text, workload)
    workers = Workers(sys.executable, cwd=tmp_path, keep="HF_TOKEN, OTHER")
    graph = await workers.run(Capture(subject), timeout=60)
    tried = await workers.run(Trial(subject.path, text, text, text, workload, measure=False), timeout=60)
    await workers.close()
    assert isinstance(graph, Graph), graph
    assert isinstance(tried, TrialResult), tried
    assert tried.verdict.passed, "a confined process keeps it too"
    confined = next(check.detail for check in tried.verdict.checks if check.name == "sandbox")
    assert "no secrets in the environment" in confined.partition("Not held")[0]
