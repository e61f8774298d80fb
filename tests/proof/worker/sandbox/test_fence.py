"""What a confined process tries in vain; where a measure does not hold, its Confinement says so."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelwright.proof.worker.sandbox import places
from kernelwright.proof.worker.sandbox.secrets import KEEP
from kernelwright.values.confinement import Measure
from proof.worker.sandbox.confined import NOBODY, USERS, check, seen

STORES = Path(places.__file__).with_name("credentials.txt")
# This kernel, and the same as it was before scopes, before control of truncation, without Landlock, without namespaces.
SYSTEMS = (
    {},
    {"newest_landlock": 5, "ipc": True},
    {"newest_landlock": 2},
    {"newest_landlock": 0},
    {"newest_landlock": 0, "ipc": True},
)

# The system call `name`, by its number: most have no function in Python.
CALL = """
def call(name, *arguments):
    number = {name: number for _, name, number in rules(os.uname().machine)}[name]
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(number, *[a if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
"""


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("system", SYSTEMS, ids=str)
@pytest.mark.parametrize(
    ("measure", "deed"),
    [
        (Measure.WRITES, "os.truncate(outside + '/file', 0)"),
        (Measure.CREDENTIALS, "return open(home + '/.ssh/id_ed25519').read()"),
        (Measure.MEMORY, "return open(f'/proc/{sibling}/environ', 'rb').read(1)"),
        (Measure.SIGNALS, "os.kill(sibling, signal.SIGUSR1)"),
        (Measure.NETWORK, "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', ('127.0.0.1', 9))"),
        (Measure.CALLS, CALL + "call('io_uring_setup', 4, bytes(256))"),
    ],
)
def test_old_and_new_systems(measure: Measure, deed: str, system: dict, user: int) -> None:
    check(measure, deed, user, **system)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(
    ("measure", "deed"),
    [
        (Measure.WRITES, "open(outside + '/new', 'w')"),
        (Measure.WRITES, "open(outside + '/file', 'a')"),
        (Measure.WRITES, "os.unlink(outside + '/file')"),
        (Measure.WRITES, "os.mkdir(outside + '/new')"),
        (Measure.WRITES, "os.rename(outside + '/file', outside + '/other')"),
        (Measure.WRITES, "os.rename(outside + '/file', scratch + '/file')"),
        (Measure.WRITES, "os.symlink('/', outside + '/new')"),
        (Measure.WRITES, "open(home + '/.bashrc', 'w')"),
        (Measure.WRITES, "os.symlink(outside, scratch + '/out');"
                         "open(scratch + '/out/new', 'w')"),
        (Measure.CREDENTIALS, "return open(home + '/link/id_ed25519').read()"),
        (Measure.CREDENTIALS, "os.link(home + '/.ssh/id_ed25519', home + '/key')"),
        (Measure.CREDENTIALS, ""
                              "os.rename(home + '/.ssh/id_ed25519', scratch + '/key'); open(scratch + '/key').read()"),
        (Measure.CREDENTIALS, "return subprocess.check_output(['cat', home + '/.ssh/id_ed25519']).decode()"),
        (Measure.MEMORY, "open(f'/proc/{sibling}/mem', 'rb')"),
        (Measure.MEMORY, "os.readlink(f'/proc/{sibling}/fd/0')"),
        (Measure.MEMORY, CALL + "call('ptrace', 16, sibling, 0, 0)"),  # PTRACE_ATTACH
        (Measure.MEMORY, CALL + "call('process_vm_readv', sibling, 0, 0, 0, 0, 0)"),
        (Measure.SIGNALS, "os.kill(-os.getpgid(sibling), signal.SIGUSR1)"),
        (Measure.SIGNALS, "signal.pidfd_send_signal(os.pidfd_open(sibling), signal.SIGUSR1)"),
        (Measure.NETWORK, "socket.socket(socket.AF_INET).bind(('127.0.0.1', 0))"),
        (Measure.NETWORK, "socket.if_nameindex()"),
        (Measure.CALLS, "os.setpriority(os.PRIO_PROCESS, sibling, 19)"),
        (Measure.CALLS, "os.setpriority(os.PRIO_PGRP, 0, 19)"),
        (Measure.CALLS, "os.setpriority(os.PRIO_PROCESS, parent, 19)"),
        (Measure.CALLS, "os.sched_setaffinity(sibling, os.sched_getaffinity(0))"),
        (Measure.CALLS, "os.sched_setscheduler(sibling, os.SCHED_BATCH, os.sched_param(0))"),
        (Measure.CALLS, "resource.prlimit(sibling, resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU))"),
        (Measure.CALLS, CALL + "call('add_key', b'user', b'kernelwright', b'x', 1, -3)"),  # to its own keyring
    ],
)  # fmt: skip
def test_ways_around(measure: Measure, deed: str, user: int) -> None:
    check(measure, deed, user)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(
    "deed",
    [
        "os.kill(parent, signal.SIGUSR1)",
        "os.killpg(os.getpgid(parent), signal.SIGUSR1)",
        CALL + "call('tgkill', parent, parent, signal.SIGUSR1)",
        CALL + "call('rt_sigqueueinfo', parent, signal.SIGUSR1, struct.pack('iii', 10, 0, -1) + bytes(116))",
        "os.pidfd_open(parent)",
        "os.kill(-1, 0)",
        "signal.pidfd_send_signal(os.open(f'/proc/{parent}', os.O_RDONLY), signal.SIGUSR1)",
        "fcntl.fcntl(os.pipe()[0], 8, parent)",  # F_SETOWN
        "fcntl.fcntl(os.pipe()[0], 10, signal.SIGUSR1)",  # F_SETSIG
        "fcntl.fcntl(os.pipe()[0], 15, struct.pack('ii', 1, parent))",  # F_SETOWN_EX
        "fcntl.ioctl(socket.socketpair()[0], 0x8901, struct.pack('i', parent))",  # FIOSETOWN
        "fcntl.ioctl(socket.socketpair()[0], 0x8902, struct.pack('i', parent))",  # SIOCSPGRP
    ],
)
def test_the_parent_is_safe_on_kernels_that_cannot_protect_all(deed: str, user: int) -> None:
    if deed != "os.kill(-1, 0)":
        assert not seen(deed, user, confined=False).stopped
    found = seen(deed, user, newest_landlock=4, ipc=True)
    assert found.confinement.holds(Measure.CALLS)
    assert found.stopped


@pytest.mark.parametrize("user", USERS)
def test_privileges(user: int) -> None:
    deed = "return [line for line in open('/proc/self/status') if line.startswith(('NoNewPrivs', 'CapEff'))]"
    found = seen(deed, user)
    assert found.confinement.holds(Measure.PRIVILEGES)
    assert found.confinement.holds(Measure.CAPABILITIES)
    assert found.returned == [f"CapEff:\t{'0' * 15}{'a' if user == 0 else '0'}\n", "NoNewPrivs:\t1\n"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a set-uid program, and rename the machine")
def test_a_set_uid_program_and_roots_powers() -> None:
    program = Path("/tmp") / f"kernelwright-test-id-{os.getpid()}"
    shutil.copy(str(shutil.which("id")), program)
    program.chmod(0o4755)
    deed = f"return subprocess.check_output([{str(program)!r}, '-u'], text=True).strip()"
    try:
        assert seen(deed, NOBODY, confined=False).returned == "0"
        assert seen(deed, NOBODY).returned == str(NOBODY)
    finally:
        program.unlink()
    check(Measure.CAPABILITIES, "socket.sethostname(socket.gethostname())", 0, newest_landlock=0, ipc=True)


@pytest.mark.parametrize("user", USERS)
def test_bounds(user: int) -> None:
    deed = """
        with open(scratch + "/large", "wb") as file:
            file.truncate(3 << 20)
    """
    check(Measure.LIMITS, deed, user, bounds={"file_bytes": 2 << 20})
    check(Measure.LIMITS, "return [os.dup(1) for _ in range(300)]", user, bounds={"open_files": 256})
    bomb = """
        children = []
        try:
            for _ in range(200):
                pid = os.fork()
                if pid == 0:
                    time.sleep(60)
                    os._exit(0)
                children.append(pid)
        finally:
            for pid in children:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    """
    check(Measure.PROCESSES, bomb, user, bounds={"processes": 50})
    check(Measure.PROCESSES, bomb, user, bounds={"processes": 50}, ipc=True)


@pytest.mark.parametrize("user", USERS)
def test_secrets_of_the_environment(user: int) -> None:
    deed = "return [os.environ.get('OTHER_TOKEN'), b'hunter2' in open('/proc/self/environ', 'rb').read()]"
    clean = seen(deed, user)
    assert clean.returned == [None, False]
    assert clean.confinement.holds(Measure.ENVIRONMENT)
    late = seen(deed, user, environment={"OTHER_TOKEN": "hunter2"})
    assert late.returned == [None, True]
    assert not late.confinement.holds(Measure.ENVIRONMENT)
    assert "OTHER_TOKEN" in late.confinement.sentence
    kept = seen(deed, user, environment={"OTHER_TOKEN": "hunter2", KEEP: "OTHER_TOKEN"})
    assert kept.returned == ["hunter2", True]


@pytest.mark.parametrize("user", USERS)
def test_descriptors_of_the_parent(user: int) -> None:
    deed = "return [fd for fd in os.listdir('/proc/self/fd') if int(fd) > 2 and os.path.exists(f'/proc/self/fd/{fd}')]"
    closed = seen(deed, user)
    assert closed.confinement.holds(Measure.DESCRIPTORS)
    assert len(closed.returned) == 1


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(
    "deed",
    [
        "return open(home + '/project/kernel.py').read()",
        "return 'content' if 'project' in os.listdir(home) and os.listdir('/') else ''",
        "open(scratch + '/file', 'w').write('content'); return open(scratch + '/file').read()",
        "os.mkdir(scratch + '/a'); open(scratch + '/a/b', 'w'); os.replace(scratch + '/a/b', scratch + '/b'); return 'content'",
        "open('/dev/null', 'w').write('x'); return 'content' if open('/dev/urandom', 'rb').read(1) else ''",
        "open('/proc/self/comm', 'w').write('name'); return 'content'",
        "return subprocess.check_output(['echo', '-n', 'content']).decode()",
        "return 'content' if tempfile.mkdtemp().startswith(scratch + '/tmp/') else tempfile.gettempdir()",
        "name = f'/dev/shm/kernelwright-{os.getpid()}'; open(name, 'w'); os.unlink(name); return 'content'",
        "a, b = socket.socketpair(); a.send(b'content'); return b.recv(16).decode()",
        "child = subprocess.Popen(['sleep', '60']); child.kill(); return 'content' if child.wait() == -9 else ''",
        "os.kill(os.getpid(), 0); signal.raise_signal(signal.SIGUSR1); return 'content'",
        "os.nice(1); os.setpriority(os.PRIO_PROCESS, os.getpid(), os.getpriority(os.PRIO_PROCESS, 0)); return 'content'",
        "os.sched_setaffinity(0, os.sched_getaffinity(os.getpid())); return 'content'",
        "open(scratch + '/a', 'w').write('content'); shutil.copy2(scratch + '/a', scratch + '/b');"
        "return open(scratch + '/b').read()",
        "import pathlib; pathlib.Path(scratch + '/a').touch(); pathlib.Path(scratch + '/a').touch(); return 'content'",
        "fcntl.fcntl(os.pipe()[0], fcntl.F_GETFD); fcntl.flock(open(scratch + '/lock', 'w'), fcntl.LOCK_EX); return 'content'",
        "limits = resource.getrlimit(resource.RLIMIT_CORE); resource.setrlimit(resource.RLIMIT_CORE, limits); return 'content'",
    ],
)
def test_what_honest_code_needs(deed: str, user: int) -> None:
    found = seen(deed, user)
    assert (found.returned, found.stopped) == ("content", "")


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("system", SYSTEMS, ids=str)
@pytest.mark.parametrize(
    "deed",
    [
        "os.chmod(outside + '/file', 0o777)",
        "os.fchmod(os.open(outside + '/file', os.O_RDONLY), 0o777)",
        "os.chown(outside + '/file', os.getuid(), os.getgid())",
        "os.utime(outside + '/file', (1, 1))",
        "subprocess.run(['chmod', '777', outside + '/file'])",
        "os.setxattr(outside + '/file', 'user.note', b'x')",
    ],
)
def test_attributes_of_files_elsewhere_stay(deed: str, system: dict, user: int) -> None:
    look = "s = os.stat(outside + '/file'); now = [s.st_mode, s.st_uid, s.st_mtime_ns, s.st_ctime_ns]"
    whole = f"{look}; before = now; time.sleep(0.02)\ntry:\n    {deed}\nexcept OSError:\n    pass\n{look}; return before == now"
    assert seen(whole, user, **system).returned is True
    assert seen(whole, user, confined=False).returned is False


@pytest.mark.parametrize("name", ["shmget', 0, 4096", "semget', 0, 1", "msgget', 0", "mq_open', b'/kernelwright', 64"])
def test_nothing_is_made_that_the_system_keeps(name: str) -> None:
    found = seen(f"{CALL}call('{name}, 0o600, 0)")
    assert found.confinement.holds(Measure.CALLS)
    assert "refused" in found.stopped


@pytest.mark.parametrize("user", USERS)
def test_shared_memory_is_gone_with_the_process(user: int) -> None:
    name = f"kernelwright-test-shared-{os.getpid()}"
    deed = f"open('/dev/shm/{name}', 'w').write('content'); return open('/dev/shm/{name}').read()"
    found = seen(deed, user)
    assert found.returned == "content"
    assert found.confinement.holds(Measure.SHARED), found.confinement.sentence
    assert not Path(f"/dev/shm/{name}").exists()
    assert seen(deed, user, confined=False).returned == "content"
    Path(f"/dev/shm/{name}").unlink()


def test_threads_may_be_bound_to_cores_where_openmp_does_so() -> None:
    deed = "os.sched_setaffinity(sibling, os.sched_getaffinity(0))"
    assert seen(deed).stopped
    assert not seen(deed, environment={"OMP_PROC_BIND": "true"}).stopped


@pytest.mark.parametrize("user", USERS)
def test_a_hidden_folder_and_what_is_shown_of_it(user: int) -> None:
    deed = "return open(hidden + '/file').read()"
    assert seen(deed, user).returned == "content"
    for beside in ("hidden", "hidden/below", "", "home"):
        check(Measure.CREDENTIALS, deed, user, hidden="hidden", beside=beside)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("beside", ["home", "", "home/.ssh", "home/project"])
def test_no_folder_of_a_kernel_opens_what_is_hidden(beside: str, user: int) -> None:
    for name in (".ssh/id_ed25519", "link/id_ed25519", "project/notes"):
        deed = f"return open(home + '/{name}').read()"
        if name != "project/notes" or beside != "home/.ssh":
            check(Measure.CREDENTIALS, deed, user, beside=beside)
    assert seen("return open(home + '/project/kernel.py').read()", user, beside=beside).returned == "content"


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(
    "store",
    [
        (".netrc", "file"), (".config/sops/age", "keys.txt"), (".config/Bitwarden CLI", "data.json"), ("", "all.kdbx"),
        (".mozilla/firefox/profile", "cookies.sqlite"), ("", ".psql_history"), (".ipython/profile_x", "history.sqlite"),
        (".codex", "auth.json"), (".local/share/atuin", "history.db"), (".azure", "msal_token_cache.json"),
    ],
)  # fmt: skip
def test_stores_of_credentials(store: tuple[str, str], user: int) -> None:
    folder, name = store
    assert seen(f"return open(home + '/{folder}/{name}').read()", user, beside="home", stored=store).stopped
    held = seen(f"return open(home + '/{folder}/{name}').read()", user, confined=False, stored=store)
    assert held.returned == "content"


def test_the_package_is_read_wherever_it_lies() -> None:
    package = Path(places.__file__).parents[3]
    case = {"deed": f"return open({str(package / 'wire.py')!r}).read(3)", "hidden": str(package.parent)}
    assert seen(**case).returned == '"""'
    assert seen(f"return open({str(package.parent / 'x')!r}).read()", hidden=str(package.parent)).stopped


def test_the_stores_are_listed_one_a_line() -> None:
    rows = [row for row in STORES.read_text().splitlines() if row and row[0] != "#"]
    assert len(rows) == len(set(rows)) > 150
    assert all(row == row.strip() and "\t" not in row for row in rows)


@pytest.mark.parametrize("user", USERS)
def test_homes_in_a_folder_that_may_not_be_listed(user: int) -> None:
    found = seen("return open(home + '/project/kernel.py').read()", user, mode=0o311)
    assert (found.returned, found.stopped) == ("content", "")
    check(Measure.CREDENTIALS, "return open(home + '/.ssh/id_ed25519').read()", user, mode=0o311)


def test_every_measure_is_told_once_in_order() -> None:
    assert [restriction.measure for restriction in seen("").confinement.restrictions] == list(Measure)


def test_abstract_sockets_are_closed_unless_gpu_memory_is_shared() -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        name = f"kernelwright-test-{os.getpid()}"
        listener.bind(f"\0{name}")
        listener.listen()
        deed = f"socket.socket(socket.AF_UNIX).connect(chr(0) + {name!r})"
        assert seen(deed).stopped
        assert not seen(deed, ipc=True).stopped
        assert seen(deed, ipc=True).confinement.holds(Measure.NETWORK)


def test_a_process_with_threads_says_what_does_not_bind_them() -> None:
    program = f"""if True:
        import threading, time
        from kernelwright.proof.worker.sandbox.fence import confine
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        confinement = confine({"scratch"!r})
        print(confinement.sentence)
        from kernelwright.values.confinement import Measure
        print([measure.name for measure in Measure if not confinement.holds(measure)])
    """
    folder = Path("/tmp") / f"kernelwright-test-threads-{os.getpid()}"
    folder.mkdir()
    try:
        run = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    finally:
        shutil.rmtree(folder)
    sentence, names = run.stdout.splitlines()
    assert "already has 1 other threads" in sentence
    assert {"WRITES", "CREDENTIALS", "CAPABILITIES"} <= set(eval(names))
    assert not {"NETWORK", "PRIVILEGES"} & set(eval(names))


def test_the_group_ends_with_one_signal_and_the_host_with_its_parent(tmp_path: Path) -> None:
    program = f"""if True:
        import os, signal, subprocess, sys, time
        from kernelwright.proof.worker.sandbox.fence import confine
        pid = os.fork()
        if pid == 0:
            confine({str(tmp_path / "scratch")!r})
            child = subprocess.Popen(["sleep", "300"])
            print(os.getpid(), child.pid, flush=True)
            time.sleep(300)
        time.sleep(300)
    """
    for ending in ("group", "parent"):
        parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        host, child = map(int, parent.stdout.readline().split())
        if ending == "group":
            os.killpg(host, 9)
        else:
            parent.kill()
        gone = [host, child] if ending == "group" else [host]
        patience = time.monotonic() + 10
        while any(runs(pid) for pid in gone) and time.monotonic() < patience:
            time.sleep(0.02)
        assert not any(runs(pid) for pid in gone), ending
        parent.kill()
        parent.wait()
        if runs(child):
            os.kill(child, 9)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
