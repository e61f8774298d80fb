"""What a kernel's own code can do to the process that it runs in, as Python statements. GPU deeds need CUDA."""

SLEEPER = "31536007"  # seconds; the sleep that descendants run, told by its argument

CRASHES = {
    "segfault": "ctypes.string_at(0)",
    "abort": "os.abort()",
    "exit": "os._exit(3)",
    "sys-exit": "sys.exit('enough')",
    "kill-self": "os.kill(os.getpid(), signal.SIGKILL)",
    "kill-group": "os.killpg(0, signal.SIGKILL)",
}

HANGS = {
    "busy-loop": "while True: pass",
    "ignores-signals": """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
        time.sleep(3600)
    """,
    "stops-itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "hang-without-gil-release": "ctypes.PyDLL(None).pause()",
}

MEMORY = {
    "out-of-memory": """
        import resource
        used = int(open('/proc/self/statm').read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.getrlimit(resource.RLIMIT_AS)[1]))
        held = []
        while True:
            held.append(torch.zeros(4 << 20))
    """,
    "out-of-memory-huge": "torch.zeros(1 << 50)",
}

MESSAGES = {
    "garbage": "say(os.urandom(64))",
    "garbage-long": "say(os.urandom(100_000))",
    "half-header": "say(MAGIC[:3])",
    "header-only": "say(struct.pack('>4sI', MAGIC, 40))",
    "length-too-long": "say(struct.pack('>4sI', MAGIC, 100_000) + b'{\"$\":')",
    "length-too-short": "say(struct.pack('>4sI', MAGIC, 3) + b'{\"$\":\"Done\"}')",
    "length-zero": "say(struct.pack('>4sI', MAGIC, 0))",
    "length-huge": "say(struct.pack('>4sI', MAGIC, 0xFFFFFFFF))",
    "cut-in-the-middle": "say(struct.pack('>4sI', MAGIC, 5000) + b'[' * 2500); os.kill(os.getpid(), signal.SIGKILL)",
    "not-json": "say(struct.pack('>4sI', MAGIC, 4) + b'\\xff\\xfe{]')",
    "deep-json": "say(struct.pack('>4sI', MAGIC, 50_000) + b'[' * 50_000)",
    "another-frame": 'say(struct.pack(\'>4sI\', MAGIC, 31) + b\'{"$":"Hello","python":"3.11.11"}\')',
    "a-reply-twice": """
        body = b'{"$":"Reply","id":%d,"answer":{"$":"Failure","kind":"crashed","message":"forged"}}'
        for number in range(1, 200):
            data = body % number
            say(struct.pack('>4sI', MAGIC, len(data)) + data)
    """,
    "never-ending": """
        import itertools
        say(struct.pack('>4sI', MAGIC, 1 << 24))
        def write():
            while True:
                say(b' ')
                time.sleep(0.01)
        threading.Thread(target=write, daemon=True).start()
    """,
    "flood": """
        block = b' ' * 65536
        say(struct.pack('>4sI', MAGIC, 200 << 20))
        for _ in range(3200):
            say(block)
    """,
    "closed": "os.closerange(3, 256)",
    "thief": """
        def steal(descriptor):
            while True:
                try:
                    if not socket.socket(fileno=os.dup(descriptor)).recv(1):
                        return
                except OSError:
                    return
        for descriptor in sockets():
            threading.Thread(target=steal, args=(descriptor,), daemon=True).start()
    """,
}

POISON = {
    "patched-torch": """
        torch.relu = lambda x: x * 0
        torch.Tensor.clamp = lambda self, *a, **k: self * 0
        torch.equal = torch.allclose = lambda *a, **k: True
    """,
    "patched-json": "import json\njson.dumps = json.loads = lambda *a, **k: None",
    "default-dtype": "torch.set_default_dtype(torch.float64)",
    "closed-streams": "sys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
    "lost-folder": "place = tempfile.mkdtemp(); os.chdir(place); os.rmdir(place)",
    "cleared-environment": "os.environ.clear()",
    "no-more-files": """
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    """,
    "busy-thread": """
        def burn():
            while True:
                pass
        threading.Thread(target=burn, daemon=True).start()
    """,
    "open-files": "globals().setdefault('kept', []).extend(open('/dev/null') for _ in range(200))",
    "recursion-limit": "sys.setrecursionlimit(90)",
}

DESCENDANTS = {
    "child": f"subprocess.Popen(['sleep', '{SLEEPER}'])",
    "children": f"[subprocess.Popen(['sleep', '{SLEEPER}']) for _ in range(20)]",
    "escaped": f"escape('sleep', '{SLEEPER}')",
    "escaped-fork": "escape()",
    "escaped-and-crashed": f"escape('sleep', '{SLEEPER}'); time.sleep(0.05); os.kill(os.getpid(), signal.SIGKILL)",
    "escaped-and-deaf": f"escape('sh', '-c', 'trap \"\" TERM INT HUP; sleep {SLEEPER}; sleep {SLEEPER}')",
    "escaped-and-hangs": f"escape('sleep', '{SLEEPER}')\nwhile True: time.sleep(1)",
}

MEMORY_SHARED = {
    "shared-memory-and-crash": """
        from multiprocessing import shared_memory
        kept = shared_memory.SharedMemory(create=True, size=1 << 16)
        os.kill(os.getpid(), signal.SIGKILL)
    """,
    "shared-memory-and-hang": """
        from multiprocessing import shared_memory
        kept = shared_memory.SharedMemory(create=True, size=1 << 16)
        time.sleep(3600)
    """,
    "shared-memory-left": """
        from multiprocessing import shared_memory
        globals().setdefault('kept', []).append(shared_memory.SharedMemory(create=True, size=1 << 16))
    """,
    "memfd-and-crash": "kept = os.memfd_create('kept'); os.ftruncate(kept, 1 << 20); os.kill(os.getpid(), signal.SIGKILL)",
}

FILES = {
    "temporary-files-and-crash": """
        place = tempfile.mkdtemp()
        open(os.path.join(place, 'left'), 'w').write('left')
        os.kill(os.getpid(), signal.SIGKILL)
    """,
    "temporary-files-left": "tempfile.mkdtemp(); tempfile.mkstemp()",
    "fills-the-disk": """
        with open(os.path.join(tempfile.gettempdir(), 'filler'), 'wb') as file:
            while True:
                file.write(bytes(1 << 20))
    """,
}

ON_GPU = {
    "illegal-address": """
        import triton
        import triton.language as tl
        globals()['tl'] = tl
        @triton.jit
        def wild(place):
            tl.store(place + (1 << 40), 1.0)
        wild[(1,)](torch.zeros(4, device='cuda'))
        torch.cuda.synchronize()
    """,
    "poisoned-context": """
        try:
            torch.zeros(4, device='cuda')[torch.full((1,), 1 << 40, device='cuda')]
            torch.cuda.synchronize()
        except RuntimeError:
            pass
    """,
    "device-out-of-memory": "held = []\nwhile True: held.append(torch.empty(1 << 30, device='cuda'))",
}
