"""Conversations of any kind, for tests of those who answer them."""

from hypothesis import strategies as st

from kernelwright.values import Conversation, Message, Role

TEXTS = st.text()  # surrogates too: a file may hold bytes that did not decode
MESSAGES = st.builds(Message, st.sampled_from(Role), TEXTS)
CONVERSATIONS: st.SearchStrategy[Conversation] = st.lists(MESSAGES, min_size=1, max_size=3).map(tuple)


def asks(text: str) -> Conversation:
    return (Message(Role.SYSTEM, "You write kernels."), Message(Role.USER, text))
