"""Models that litellm can ask: those of providers, of gateways, and of servers on this machine."""

import asyncio
import dataclasses
import importlib.util
import ipaddress
import itertools
import os
import shutil
import sys
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from kernelwright.models import Bounds, Report, messages
from kernelwright.models.causes import sentence
from kernelwright.models.messages import Answered, Ask, Cause, Failed, Progress, Waiting
from kernelwright.models.process import Ended, Heard, NotStarted, Process
from kernelwright.values import Conversation, NoReply, Refusal, Reply, Usage

# No look at the network while litellm is imported, and no file of variables that lies about.
_QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"}
_LOUD = ("LITELLM_LOG",)  # prints what is asked
_SECRET = 8  # characters: a shorter key is no secret, and may be part of any word
_NO_KEY = "none"  # servers on one's own machine want no key, clients of the protocol want one


class Hosted:
    """One model, asked through one process of its own, which starts with the first request.

    `base_url`: where the model is served, empty for its provider's own address. `key`: the key from the editor's storage;
    else `key_variable` names the environment variable that holds it. Without both, litellm looks into the variables of the
    provider, but no key that was not named for it is sent to a `base_url`. `interpreter`: a Python that has litellm.
    """

    stays_here: bool

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        key: Callable[[], str] | None = None,
        key_variable: str = "",
        temperature: float | None = None,
        interpreter: str | None = None,
    ) -> None:
        self.name = model
        self.stays_here = is_loopback(base_url)
        self._base_url, self._key, self._key_variable = base_url, key, key_variable
        self._temperature, self._interpreter = temperature, interpreter
        self._is_there = False  # looked for until it is found: each strategy of a menu asks
        self._starting: asyncio.Task[Process] | None = None
        self._ids = itertools.count(1)

    def unavailable(self) -> Refusal | None:
        if not self.name:
            return Refusal("No model is named: write its provider and its name, for example litellm:openai/gpt-5.")
        if self._base_url and not host_of(self._base_url):
            return Refusal(f"The base URL {self._base_url} is not one: write http:// or https://, then host and port.")
        if self._is_there:
            return None
        refusal = self._missing()
        self._is_there = refusal is None
        return refusal

    def _missing(self) -> Refusal | None:
        if self._interpreter is not None:
            found = shutil.which(self._interpreter) is not None
            return None if found else Refusal(f"The interpreter {self._interpreter} does not exist or is no program.")
        if importlib.util.find_spec("litellm") is None:
            return Refusal(
                f"litellm is not installed in {sys.executable}: run `{sys.executable} -m pip install 'kernelwright[llm]'`."
            )
        return None

    async def complete(
        self, conversation: Conversation, bounds: Bounds, report: Report, cancel: asyncio.Event | None
    ) -> Reply | NoReply:
        refusal = self.unavailable()
        if refusal is not None:
            return NoReply(refusal.reason)
        started = time.monotonic()
        key = self._key_now()
        ask = Ask(
            next(self._ids),
            self.name,
            self._base_url,
            key or (_NO_KEY if self._base_url else ""),
            self._temperature,
            conversation,
            bounds.tokens,
            bounds.seconds,
        )
        report(f"Asking {self.name}")
        outcome = await self._outcome(ask, lambda told: report(_progress(self.name, told)), cancel)
        usage = dataclasses.replace(outcome.usage, seconds=time.monotonic() - started)
        match outcome:
            case Answered(text=text, model=model):
                return Reply(text, model or self.name, usage)
            case NoReply(reason=reason):
                return NoReply(reason.replace(key, "…") if len(key) >= _SECRET else reason, usage=usage)
            case Failed(variables=variables):
                return NoReply(sentence(outcome, self.name, bounds, self._remedy(variables)), usage=usage)

    async def close(self) -> None:
        starting, self._starting = self._starting, None
        if starting is None:
            return
        starting.cancel()
        await asyncio.wait({starting})
        if not starting.cancelled() and starting.exception() is None:
            await starting.result().close()

    async def _outcome(self, ask: Ask, heard: Heard, cancel: asyncio.Event | None) -> Answered | Failed | NoReply:
        if len(messages.line(ask)) > messages.LONGEST:
            return Failed(ask.id, Cause.TOO_LONG, Usage())
        starting = self._started()
        cancelled = asyncio.create_task((cancel or asyncio.Event()).wait())
        try:
            await asyncio.wait({starting, cancelled}, return_when=asyncio.FIRST_COMPLETED)
            if not starting.done() or starting.cancelled():
                return Failed(ask.id, Cause.CANCELLED, Usage())
            outcome = await starting.result().ask(ask, heard, cancel)
            match outcome:
                case Failed(cause=Cause.CANCELLED, usage=usage) if not cancelled.done():
                    return Failed(ask.id, Cause.TIME, usage)  # it did not keep its time itself
            return outcome
        except NotStarted as error:
            return NoReply(str(error))
        except Ended as error:
            said = f" ({error})" if str(error) else ""
            return NoReply(f"The process that asked {self.name} has ended{said}: try again.", usage=Usage(calls=1))
        finally:
            cancelled.cancel()

    def _started(self) -> asyncio.Task[Process]:
        """The process, or its start; a new one where the last has ended."""
        last = self._starting
        if last is None or (last.done() and (last.cancelled() or last.exception() or not last.result().alive)):
            environment, variables = environment_of(self._base_url)
            self._starting = asyncio.create_task(
                Process.start(self._interpreter or sys.executable, environment, variables)
            )
        assert self._starting is not None
        return self._starting

    def _key_now(self) -> str:
        return (self._key() if self._key is not None else "") or os.environ.get(self._key_variable, "")

    def _remedy(self, variables: tuple[str, ...]) -> str:
        names = (self._key_variable,) if self._key_variable else variables
        if names:
            return f"set the environment variable {' and '.join(names)}, or store a key in the editor"
        return "store one in the editor, or name an environment variable that holds it"


def host_of(base_url: str) -> str:
    """The host of an HTTP address, empty for what is none."""
    try:
        parts = urlsplit(base_url)
        return (parts.hostname or "") if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""


def is_loopback(base_url: str) -> bool:
    """Whether what is sent to this address stays on this machine."""
    host = host_of(base_url)
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def environment_of(base_url: str) -> tuple[dict[str, str], dict[str, str]]:
    """The environment of a process that asks models, and the secrets of ours that it gets in another way.

    These are all, since providers have names of their own for theirs; but with a `base_url` only those about proxies.
    """
    from kernelwright.proof.worker.sandbox.secrets import scrubbed  # a room that the start of a server does without

    environment = scrubbed(os.environ)
    variables = {name: value for name, value in os.environ.items() if name not in environment}
    if base_url:
        variables = {name: value for name, value in variables.items() if name.lower().endswith("_proxy")}
    if is_loopback(base_url):
        environment |= dict.fromkeys(("NO_PROXY", "no_proxy"), "*")
    return {name: value for name, value in environment.items() if name not in _LOUD} | _QUIET, variables


def _progress(model: str, told: Progress | Waiting) -> str:
    match told:
        case Waiting(seconds=seconds, why=why):
            return f"{model} is asked again in {seconds:g} s ({why})"
        case Progress(written=0, thought=thought):
            return f"{model} has thought {thought:,} characters"
        case Progress(written=written):
            return f"{model} has written {written:,} characters"
