"""The server that other tests ask."""

import json
import urllib.error
import urllib.request
from typing import Any

from models.openai_server import Fails, OpenAIServer, Says

MESSAGES = [{"role": "user", "content": "How?"}]


def post(url: str, body: dict[str, Any]) -> tuple[int, str]:
    content = json.dumps({"model": "m", "messages": MESSAGES, **body}).encode()
    request = urllib.request.Request(url, content, {"Authorization": "Bearer a-key"})
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_answers_in_order_whole_and_in_parts() -> None:
    with OpenAIServer(
        [Says("One.", tokens=(3, 2)), Says("Two.", tokens=(3, 2), piece=2), Fails(503, "busy")]
    ) as server:
        url = f"{server.url}/chat/completions"
        status, whole = post(url, {})
        assert status == 200
        assert json.loads(whole)["choices"][0]["message"] == {"role": "assistant", "content": "One."}
        assert json.loads(whole)["usage"]["total_tokens"] == 5

        status, stream = post(url, {"stream": True, "stream_options": {"include_usage": True}})
        *events, last = [event.removeprefix("data: ") for event in stream.split("\n\n") if event]
        assert (status, last) == (200, "[DONE]")
        choices = [choice for event in events for choice in json.loads(event)["choices"]]
        assert [choice["delta"].get("content", "") for choice in choices] == ["", "Tw", "o.", ""]
        assert choices[-1]["finish_reason"] == "stop"
        assert json.loads(events[-1])["usage"]["total_tokens"] == 5

        assert post(url, {})[0] == 503
        status, refused = post(url, {})
        assert (status, "no further scripted answer" in refused) == (400, True)
        assert post(f"{server.url}/elsewhere", {})[0] == 404
        assert (server.asked[0].texts, server.asked[0].key) == (["How?"], "a-key")
