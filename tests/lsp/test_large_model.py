"""While the strategies look at the op graph of a large model, the server answers whatever else it is asked."""

import asyncio

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from lsp.editor import Editor
from lsp.examples import LARGE, PLAIN

MEANWHILE = 3  # answers, of the two hundred that came beside five programs that did nothing but run


class Menu:
    """A request for the action menu of a kernel, which has been sent when this is made: what follows comes after it."""

    def __init__(self, editor: Editor, uri: str, kernel: str, arrived: list["Menu"] | None = None) -> None:
        self._client = editor.client
        self.id = f"menu {id(self)}"
        at = editor.position(uri, kernel)
        params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), lsp.Range(at, at), lsp.CodeActionContext([]))
        sent = self._client.protocol.send_request(lsp.TEXT_DOCUMENT_CODE_ACTION, params, msg_id=self.id)
        sent.add_done_callback(lambda _: None if arrived is None else arrived.append(self))
        self.answer = asyncio.wrap_future(sent)

    def cancel(self) -> None:
        self._client.cancel_request(lsp.CancelParams(self.id))


async def captured(editor: Editor) -> tuple[str, str]:
    """The large model with its op graph known to the server and the menu not yet worked out, and a small file."""
    large, small = editor.open("large.py", LARGE), editor.open("small.py", PLAIN)
    answer = await editor.command("kernelwright.apply", {"uri": large, "strategy": "torch.fuse-scan"})
    assert "There is no scan." in str(answer)
    return large, small


async def test_other_questions_are_answered_while_the_menu_is_worked_out(code: Editor) -> None:
    large, small = await captured(code)
    menu, answered = Menu(code, large, "class Model"), 0
    while not menu.answer.done():
        assert "scaled" in await code.hover(small, "def scaled")
        answered += not menu.answer.done()
    assert answered >= MEANWHILE
    assert any("Fuse reduction" in action.title and not action.disabled for action in await menu.answer)


async def test_a_hover_waits_for_the_menu_that_is_being_worked_out(code: Editor) -> None:
    large, _ = await captured(code)
    menu = Menu(code, large, "class Model")
    assert "Fuse reduction" in await code.hover(large, "class Model")
    assert await menu.answer


async def test_a_cancelled_menu_is_answered_before_it_is_worked_out(code: Editor) -> None:
    large, _ = await captured(code)
    arrived: list[Menu] = []
    other, cancelled = (Menu(code, large, "class Model", arrived) for _ in range(2))
    cancelled.cancel()
    with pytest.raises(JsonRpcException) as raised:
        await cancelled.answer
    assert raised.value.code == lsp.LSPErrorCodes.RequestCancelled
    assert await other.answer, "who goes on waiting gets the menu"
    assert arrived == [cancelled, other]


async def test_the_menu_of_a_text_that_is_no_more_is_dropped(code: Editor) -> None:
    large, _ = await captured(code)
    menu = Menu(code, large, "class Model")
    code.type(large, "Sixty blocks", "Many blocks")
    assert not await menu.answer
