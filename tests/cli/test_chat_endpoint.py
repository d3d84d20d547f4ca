"""`sapwood chat` with an endpoint: streams, tools, usage, and all that may go wrong there."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest
from agent.vendors import results_in
from agent.vendors import said as said_by
from endpoint import Drop, Endpoint, Hang, Reply, Stream, completions

from .command import Command
from .talking import Talk, of_kind, spoken, talk, with_model
from .test_chat import said

PIECES = ["The ", "order ", "left."]


def answer(sap: Command) -> dict[str, Any]:
    """Give the last message that is stored."""
    session = sap.json("ls", "--tag", "chat")["sessions"][0]["id"]
    return sap.json("show", session, "--history")["entries"][-1]


def state(message: dict[str, Any]) -> str:
    """Give how the turn of a stored message stands."""
    return str(message["extra"]["turn"]["state"])


def test_an_answer_streams_in_and_is_stored(empty: Command, endpoint: Endpoint) -> None:
    endpoint.prepare(Stream(completions.chunks(*PIECES)))
    events = talk(empty, "Where is it?", args=with_model(endpoint))
    assert [it["text"] for it in of_kind(events, "text")] == PIECES
    assert said(empty) == [("user", "Where is it?"), ("assistant", "The order left.")]
    assert state(answer(empty)) == "complete"
    body = endpoint.asked[0].body
    assert spoken(endpoint.asked[0]) == [{"role": "user", "content": "Where is it?"}]
    assert (body["model"], body["stream"]) == ("small", True)
    assert body["stream_options"] == {"include_usage": True}


def test_the_whole_history_is_sent(empty: Command, endpoint: Endpoint) -> None:
    endpoint.prepare(*(Stream(completions.chunks(f"answer {n}")) for n in range(2)))
    talk(empty, "one", args=with_model(endpoint))
    talk(empty, "two", args=with_model(endpoint))
    assert [it["content"] for it in spoken(endpoint.asked[1])] == [
        "one",
        "answer 0",
        "two",
    ]


def test_the_key_comes_from_the_variable_that_is_named(empty: Command, endpoint: Endpoint) -> None:
    empty.env |= {"OPENAI_API_KEY": "the usual", "MINE": "my-own"}
    for args in ([], ["--api-key-env", "MINE"]):
        endpoint.prepare(Stream(completions.chunks("ok")))
        talk(empty, "hi", args=[*with_model(endpoint), *args])
    keys = [it.headers["authorization"] for it in endpoint.asked]
    assert keys == ["Bearer the usual", "Bearer my-own"]


def test_usage_is_counted_once_for_each_answer_although_the_ids_are_the_same(
    empty: Command, endpoint: Endpoint
) -> None:
    endpoint.prepare(*(Stream(completions.chunks("ok", id="same")) for _ in range(3)))
    events = talk(empty, "a", "b", "c", "/usage", args=with_model(endpoint))
    [totals] = of_kind(events, "usage")[0]["models"]
    assert (totals["model"], totals["calls"]) == ("small-1", 3)
    assert (totals["input_tokens"], totals["cached_tokens"]) == (3600, 3072)
    assert (totals["output_tokens"], totals["reasoning_tokens"]) == (240, 90)
    assert "3 calls" in empty("chat", input=b"/usage\n")


def test_tools_are_called_and_their_results_sent_back(empty: Command, endpoint: Endpoint) -> None:
    endpoint.prepare(
        Stream(completions.chunks("Noted.")),
        Stream(completions.call_chunks("session_search", '{"que', 'ry": "par', 'cel"}')),
        Stream(completions.chunks("It is about a parcel.")),
    )
    events = talk(empty, "The parcel is blue.", "What was it?", args=with_model(endpoint))
    [call] = of_kind(events, "call")
    assert (call["name"], call["input"]) == ("session_search", {"query": "parcel"})
    assert "blue" in of_kind(events, "result")[0]["output"]
    *_, asked, result = endpoint.asked[2].body["messages"]
    assert asked["tool_calls"][0]["function"]["arguments"] == '{"query": "parcel"}'
    assert (result["role"], result["tool_call_id"]) == ("tool", "call_1")
    tools = [it["function"]["name"] for it in endpoint.asked[0].body["tools"]]
    assert tools == ["update_context", "search_context", "session_search"]
    assert said(empty)[-1] == ("assistant", "It is about a parcel.")


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("no_such_tool", "{}", "There is no tool"),
        ("session_search", "{not json", "not valid JSON"),
        ("session_search", "[]", "must be a JSON object"),
        ("session_search", '{"query": "()"}', "Error: "),
        ("session_search", '{"query": "NOT hi NOT nowhere NOT search"}', "Error: "),
        ("update_context", '{"label": "soul", "content": "x"}', "Error: "),
    ],
)
def test_a_call_that_is_wrong_is_told_to_the_model(
    empty: Command, endpoint: Endpoint, name: str, arguments: str, told: str
) -> None:
    endpoint.prepare(
        Stream(completions.call_chunks(name, arguments)), Stream(completions.chunks("I see."))
    )
    events = talk(empty, "hi", args=with_model(endpoint))
    assert told in of_kind(events, "result")[0]["output"]
    assert of_kind(events, "ended")[-1]["state"] == "complete"


def test_a_model_that_only_calls_tools_comes_to_an_end(empty: Command, endpoint: Endpoint) -> None:
    endpoint.usual = lambda asked: Stream(
        completions.call_chunks("session_search", '{"query": "x"}')
    )
    events = talk(empty, "hi", args=with_model(endpoint))
    assert len(endpoint.asked) == 20
    assert of_kind(events, "ended")[-1]["why"] == "the limit on rounds of tools"
    assert of_kind(events, "ended")[-1]["state"] == "cut_off"


def test_a_call_that_was_cut_off_is_not_carried_out(empty: Command, endpoint: Endpoint) -> None:
    *chunks, _, _ = completions.call_chunks("session_search", '{"query": "par')
    endpoint.prepare(Stream([*chunks, completions.chunk({}, finish="length")]))
    events = talk(empty, "hi", args=with_model(endpoint))
    assert (of_kind(events, "result"), len(endpoint.asked)) == ([], 1)
    assert of_kind(events, "ended")[0]["state"] == "cut_off"


def test_thoughts_are_kept_apart_from_the_answer(empty: Command, endpoint: Endpoint) -> None:
    chunks = [
        completions.chunk({"reasoning_content": "hm, "}),
        completions.chunk({"reasoning": "well"}),
        completions.chunk({"content": "Yes."}),
        completions.chunk({}, finish="stop"),
    ]
    endpoint.prepare(Stream(chunks), Stream(completions.chunks("ok")))
    talk(empty, "hi", "and?", args=with_model(endpoint))
    assert spoken(endpoint.asked[1])[1]["content"] == "Yes."
    session = empty.json("ls")["sessions"][0]["id"]
    parts = empty.json("show", session, "--history")["entries"][1]["parts"]
    texts = {it["type"]: it["text"] for it in parts}
    assert texts == {"reasoning": "hm, well", "text": "Yes."}


NONSENSE = [
    pytest.param(Reply({"error": {"message": "no such model"}}, 404), "NotFoundError", id="404"),
    pytest.param(Reply({"error": {"message": "who are you"}}, 401), "Authentication", id="401"),
    pytest.param(Reply(completions.OVERFLOW, 400), "maximum context length", id="overflow"),
    pytest.param(Stream(["{no json"]), "JSONDecodeError", id="no json"),
    pytest.param(
        Stream([{"error": {"message": "out of memory"}}]), "out of memory", id="error in stream"
    ),
]


@pytest.mark.parametrize(("action", "told"), NONSENSE)
def test_an_endpoint_that_fails_is_told_and_nothing_is_lost(
    empty: Command, endpoint: Endpoint, action: Any, told: str
) -> None:
    endpoint.prepare(action)
    done = empty.run("chat", *with_model(endpoint), input=b"hello\n")
    assert done.returncode == 1
    assert "the model did not answer" in done.stderr
    assert told in done.stderr
    assert said(empty) == [("user", "hello")]
    endpoint.prepare(Stream(completions.chunks("At last.")))
    events = talk(empty, "/again", args=with_model(endpoint))
    assert of_kind(events, "entered")[0]["standing"] == "unanswered"
    assert said(empty) == [("user", "hello"), ("assistant", "At last.")]


@pytest.mark.parametrize("events", [[], [{"choices": []}], [{"choices": "x"}, {"nonsense": 1}, 7]])
def test_an_endpoint_that_says_nothing_is_told(
    empty: Command, endpoint: Endpoint, events: list[Any]
) -> None:
    endpoint.usual = lambda asked: Stream(events)
    done = empty.run("chat", *with_model(endpoint), input=b"hello\n")
    assert "did not answer" in done.stderr
    assert said(empty) == [("user", "hello")]


def test_an_answer_of_no_words_is_told(empty: Command, endpoint: Endpoint) -> None:
    endpoint.prepare(Stream(completions.chunks()))
    done = empty.run("chat", *with_model(endpoint), input=b"hello\n")
    assert "the model answered nothing" in done.stderr
    assert said(empty) == [("user", "hello")]


def test_a_rate_limit_is_waited_for_and_a_lost_connection_tried_again(
    empty: Command, endpoint: Endpoint
) -> None:
    limited = Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "0.01"})
    endpoint.prepare(limited, Drop(), Stream(completions.chunks("ok")))
    talk(empty, "hello", args=with_model(endpoint))
    assert said(empty)[-1] == ("assistant", "ok")


def test_a_connection_lost_in_the_middle_keeps_what_came(
    empty: Command, endpoint: Endpoint
) -> None:
    endpoint.usual = lambda asked: Stream([completions.chunk({"content": "The or"})], drops=True)
    done = empty.run("chat", *with_model(endpoint), input=b"hello\n")
    assert done.returncode == 1
    assert "the model did not answer" in done.stderr
    stored = answer(empty)
    assert stored["parts"][0]["text"] == "The or"
    assert state(stored) == "interrupted"


def test_an_answer_that_broke_off_is_asked_for_again_and_that_is_told(
    empty: Command, endpoint: Endpoint
) -> None:
    begun = [completions.chunk({"content": "The or"})]
    endpoint.prepare(Stream(begun, drops=True), Stream(completions.chunks("The order left.")))
    done = empty.run("chat", *with_model(endpoint), input=b"hello\n")
    assert "begins anew" in done.stderr
    assert said(empty) == [("user", "hello"), ("assistant", "The order left.")]


@pytest.mark.parametrize(
    ("finish", "left"), [("length", "interrupted"), ("content_filter", "complete")]
)
def test_an_answer_that_was_cut_off_is_marked(
    empty: Command, endpoint: Endpoint, finish: str, left: str
) -> None:
    chunks = [completions.chunk({"content": "The or"}), completions.chunk({}, finish=finish)]
    endpoint.prepare(Stream(chunks))
    done = empty.run("chat", *with_model(endpoint), input=b"hello\n")
    assert "was cut off by" in done.stderr
    stored = answer(empty)
    assert (state(stored), stored["metadata"]["agent"]["reason"]) == (left, finish)


def test_nobody_there_is_told(empty: Command) -> None:
    args = ["--base-url", "http://127.0.0.1:9/v1", "--model", "small"]
    done = empty.run("chat", *args, input=b"hello\n")
    assert (done.returncode, "APIConnectionError" in done.stderr) == (1, True)
    assert said(empty) == [("user", "hello")]


def test_a_time_out_is_told(empty: Command, endpoint: Endpoint) -> None:
    endpoint.usual = lambda asked: Hang()
    done = empty.run("chat", *with_model(endpoint), "--timeout", "1", input=b"hello\n")
    assert "APITimeoutError" in done.stderr
    assert said(empty) == [("user", "hello")]


def test_an_answer_is_stored_while_the_endpoint_is_silent(
    empty: Command, endpoint: Endpoint
) -> None:
    chunks = [completions.chunk({"content": text}) for text in ("The ", "order ", "is ")]
    endpoint.prepare(Stream(chunks, hangs=True))
    talking = Talk(empty, *with_model(endpoint))
    talking.say("hello")
    while talking.until("saved")[-1]["characters"] < len("The order is "):
        pass
    stored = answer(empty)
    assert stored["parts"][0]["text"] == "The order is "
    assert state(stored) == "partial"
    talking.kill()
    [entered] = of_kind(talk(empty, "/quit"), "entered")
    assert entered["standing"] == "cut_off"
    assert "was cut off: /again" in empty.run("chat", input=b"").stderr


def test_an_interrupt_in_a_pipe_keeps_what_came_and_ends(
    empty: Command, endpoint: Endpoint
) -> None:
    endpoint.prepare(Stream([completions.chunk({"content": "The or"})], hangs=True))
    talking = Talk(empty, *with_model(endpoint))
    talking.say("hello", "never read")
    talking.until("text")
    talking.process.send_signal(signal.SIGINT)
    assert of_kind(talking.rest(), "ended")[0]["state"] == "stopped"
    assert talking.end() == 130
    assert state(answer(empty)) == "interrupted"
    assert said(empty) == [("user", "hello"), ("assistant", "The or")]


def test_an_interrupt_before_anything_came_stores_no_answer(
    empty: Command, endpoint: Endpoint
) -> None:
    endpoint.prepare(Hang())
    talking = Talk(empty, *with_model(endpoint))
    talking.say("hello")
    talking.until("asked")
    talking.process.send_signal(signal.SIGINT)
    talking.rest()
    assert talking.end() == 130
    assert said(empty) == [("user", "hello")]


def test_a_call_whose_result_a_kill_took_does_not_confuse_the_model(
    empty: Command, endpoint: Endpoint
) -> None:
    import sapwood

    with sapwood.open(f"sqlite:///{empty.folder}/agent.db") as sessions:
        chat = sessions.session("cut", tags=["chat"])
        chat.append("user", "Look it up.")
        call = {"type": "tool_call", "call_id": "c1", "name": "session_search", "input": {}}
        chat.append("assistant", [call])
    endpoint.prepare(Stream(completions.chunks("ok")))
    events = talk(empty, "And?", args=["cut", *with_model(endpoint)])
    assert of_kind(events, "entered")[0]["standing"] == "unanswered"
    roles = [it["role"] for it in spoken(endpoint.asked[0])]
    assert roles == ["user", "assistant", "tool", "user"]
    assert "interrupted" in json.dumps(spoken(endpoint.asked[0])[2])


def with_history(sap: Command) -> str:
    import sapwood

    with sapwood.open(f"sqlite:///{sap.folder}/agent.db") as sessions:
        chat = sessions.session("long", tags=["chat"])
        for n in range(6):
            chat.append("user", f"question {n} about the parcel " * 10)
            chat.append("assistant", f"answer {n} about the parcel " * 10)
    return "long"


def test_compact_puts_the_models_summary_in_place_and_counts_it(
    empty: Command, endpoint: Endpoint
) -> None:
    endpoint.prepare(completions.answer("All about a parcel."), Stream(completions.chunks("ok")))
    args = [with_history(empty), *with_model(endpoint)]
    events = talk(empty, "/compact the colour", "/context", "And?", args=args)
    [done] = of_kind(events, "compacted")
    assert done["summary"] == "All about a parcel."
    assert of_kind(events, "context")[0]["summaries"] == 1
    assert "the colour" in endpoint.asked[0].body["messages"][0]["content"]
    shown = [it["content"] for it in spoken(endpoint.asked[1])]
    assert "All about a parcel." in shown[0]
    assert [it[:10] for it in shown[1:3]] == ["question 4", "answer 4 a"]
    [totals] = of_kind(talk(empty, "/usage", args=["long"]), "usage")[0]["models"]
    assert totals["calls"] == 2


def test_compact_without_a_model_makes_a_digest(empty: Command) -> None:
    out = empty("chat", with_history(empty), input=b"/compact\n/tree\n")
    assert "a summary stands for messages 1 to 8" in out
    assert len(empty.json("show", "long", "--all")["messages"]) == 12


@pytest.mark.parametrize(
    "reply",
    [
        Reply({"error": {"message": "who are you"}}, 401),
        completions.answer(None),
        completions.answer("longer than before " * 5_000),
    ],
    ids=["refused", "no text", "too long"],
)
def test_a_compaction_that_fails_changes_nothing(
    empty: Command, endpoint: Endpoint, reply: Reply
) -> None:
    endpoint.prepare(reply)
    session = with_history(empty)
    before = empty("show", session, "--history")
    done = empty.run("chat", session, *with_model(endpoint), input=b"/compact\n")
    assert (done.returncode, "summary" in done.stderr or "without text" in done.stderr) == (1, True)
    assert empty("show", session, "--history") == before


def test_there_may_not_be_enough_to_compact(empty: Command) -> None:
    done = empty.run("chat", input=b"hello\n/compact\n")
    assert (done.returncode, "nothing to cover" in done.stderr) == (1, True)


def test_the_model_remembers_in_all_conversations(empty: Command, endpoint: Endpoint) -> None:
    given = '{"label": "memory", "content": "Likes tea.", "action": "append"}'
    endpoint.prepare(
        Stream(completions.call_chunks("update_context", given)),
        Stream(completions.chunks("Noted.")),
        Stream(completions.chunks("Tea, I know.")),
    )
    talk(empty, "I like tea.", args=["first", *with_model(endpoint)])
    # All that was sent stays as it was, and the model knows what it wrote itself.
    before = endpoint.asked[0].body["messages"]
    assert endpoint.asked[1].body["messages"][: len(before)] == before
    assert "Written to 'memory'" in spoken(endpoint.asked[1])[-1]["content"]
    talk(empty, "What do I like?", args=["second", *with_model(endpoint)])
    assert "Likes tea." in endpoint.asked[2].body["messages"][0]["content"]
    [block] = empty.json("context", "second", "memory")["blocks"]
    assert (block["agent"], block["origin"], block["by"]) == ("chat", "model", "first")


def test_without_tools_the_memory_is_only_read(empty: Command, endpoint: Endpoint) -> None:
    endpoint.prepare(*(Stream(completions.chunks("ok")) for _ in range(2)))
    args = [*with_model(endpoint), "--no-tools"]
    talk(empty, "hi", args=["mine", *args])
    assert [it["role"] for it in endpoint.asked[0].body["messages"]] == ["user"]
    empty("context", "mine", "memory", "--agent", "chat", "--set", "Likes tea.")
    talk(empty, "hi", args=["other", *args])
    assert "Likes tea." in endpoint.asked[1].body["messages"][0]["content"]
    assert "tools" not in endpoint.asked[1].body


def test_a_full_context_is_summarised_before_the_model_is_asked(
    empty: Command, endpoint: Endpoint
) -> None:
    endpoint.prepare(completions.answer("All about a parcel."), Stream(completions.chunks("ok")))
    args = [with_history(empty), *with_model(endpoint), "--compact-after", "900"]
    events = talk(empty, "And?", args=args)
    notes = [it["text"] for it in of_kind(events, "note")]
    assert any("a summary of the older part is made" in text for text in notes)
    assert any("a summary stands for messages 4 to" in text for text in notes)
    shown = [it["content"] for it in spoken(endpoint.asked[1])]
    assert any("All about a parcel." in text for text in shown)
    assert shown[-1] == "And?"
    assert of_kind(events, "ended")[0]["state"] == "complete"


def test_a_summariser_that_fails_is_replaced_by_a_digest(
    empty: Command, endpoint: Endpoint
) -> None:
    refused = Reply({"error": {"message": "who are you"}}, 401)
    endpoint.prepare(refused, Stream(completions.chunks("ok")))
    args = [with_history(empty), *with_model(endpoint), "--compact-after", "900"]
    events = talk(empty, "And?", args=args)
    assert of_kind(events, "ended")[0]["state"] == "complete"
    assert of_kind(talk(empty, "/context", args=["long"]), "context")[0]["summaries"] == 1


def test_nothing_is_summarised_while_there_is_room(empty: Command, endpoint: Endpoint) -> None:
    endpoint.prepare(Stream(completions.chunks("ok")))
    talk(empty, "And?", args=[with_history(empty), *with_model(endpoint)])
    assert len(endpoint.asked) == 1
    assert len(spoken(endpoint.asked[0])) == 13


def test_a_model_that_cannot_take_it_all_is_asked_again_with_less(
    empty: Command, endpoint: Endpoint
) -> None:
    endpoint.prepare(
        Reply(completions.OVERFLOW, 400),
        completions.answer("All about a parcel."),
        Stream(completions.chunks("ok")),
    )
    events = talk(empty, "And?", args=[with_history(empty), *with_model(endpoint)])
    assert of_kind(events, "ended")[-1]["state"] == "complete"
    shown = [it["content"] for it in spoken(endpoint.asked[2])]
    assert "All about a parcel." in shown[0]
    assert shown[-1] == "And?"
    assert answer(empty)["parts"][0]["text"] == "ok"


def test_a_model_that_cannot_take_even_less_is_told(empty: Command, endpoint: Endpoint) -> None:
    endpoint.usual = lambda asked: Reply(completions.OVERFLOW, 400)
    done = empty.run("chat", with_history(empty), *with_model(endpoint), input=b"And?\n")
    assert (done.returncode, "maximum context length" in done.stderr) == (1, True)
    # Asked once, for a summary, and once more.
    assert len(endpoint.asked) == 3


def test_two_chats_in_one_conversation_do_not_interleave(
    empty: Command, endpoint: Endpoint
) -> None:
    endpoint.prepare(
        # Slow enough for another chat to begin meanwhile, on a busy machine, too.
        Stream(completions.chunks("The ", "order ", "left."), 2),
        Stream(completions.chunks("Two.")),
    )
    args = ["shared", *with_model(endpoint)]
    first = Talk(empty, *args)
    first.say("one")
    first.until("text")
    events = talk(empty, "two", args=args)
    assert any("waiting for another answer" in it["text"] for it in of_kind(events, "note"))
    first.until("ended")
    assert first.end() == 0
    texts = [text for _, text in said(empty, "shared")]
    assert texts == ["one", "The order left.", "two", "Two."]


def test_again_takes_over_what_is_answered_elsewhere(empty: Command, endpoint: Endpoint) -> None:
    endpoint.prepare(
        Stream([completions.chunk({"content": "The or"})], hangs=True),
        Stream(completions.chunks("It left.")),
    )
    args = ["shared", *with_model(endpoint)]
    first = Talk(empty, *args)
    first.say("Where is it?")
    first.until("saved")
    events = talk(empty, "/again", args=args)
    assert of_kind(events, "ended")[-1]["state"] == "complete"
    assert said(empty, "shared") == [("user", "Where is it?"), ("assistant", "It left.")]
    first.kill()


def test_anthropics_protocol_is_spoken(empty: Command, endpoint: Endpoint) -> None:
    empty.env["ANTHROPIC_API_KEY"] = "the usual"
    endpoint.prepare(
        said_by("anthropic", calls=[("c1", "session_search", {"query": "parcel"})]),
        said_by("anthropic", "It is **about** a parcel.", id="a-2"),
    )
    args = ["--provider", "anthropic", "--base-url", endpoint.root, "--model", "small"]
    events = talk(empty, "Look.", "/usage", args=args)
    assert [it.path for it in endpoint.asked] == ["/v1/messages"] * 2
    assert "the usual" in str(endpoint.asked[0].headers)
    assert of_kind(events, "result")[0]["name"] == "session_search"
    assert results_in(endpoint.asked[1].body)["c1"]
    assert said(empty)[-1] == ("assistant", "It is **about** a parcel.")
    assert of_kind(events, "usage")[0]["models"][0]["calls"] == 2


def test_a_model_named_claude_is_anthropics(empty: Command) -> None:
    for model, variable in (("claude-sonnet-5-5", "ANTHROPIC_API_KEY"), ("x", "OPENAI_API_KEY")):
        code, told = empty.fails("chat", "--model", model)
        assert (code, variable in told) == (2, True)


def test_the_meter_shows_window_and_cost_by_the_users_own_table(
    empty: Command, endpoint: Endpoint
) -> None:
    table = "[small]\nwindow = 2000\ninput = 1.0\ncached = 0.5\noutput = 10\n"
    (empty.folder / "models.toml").write_text(table)
    endpoint.prepare(*(Stream(completions.chunks("ok", id=f"a{n}")) for n in range(2)))
    args = [*with_model(endpoint), "--models", "models.toml"]
    events = talk(empty, "hi", "and?", "/context", args=args)
    one = (1200 - 1024) * 1 + 1024 * 0.5 + 80 * 10
    assert [it["cost_micros"] for it in of_kind(events, "meter")] == [one, 2 * one]
    assert of_kind(events, "ended")[0]["usage"]["cost_micros"] == one
    assert {it["window"] for it in of_kind(events, "meter")} == {2000}
    assert of_kind(events, "context")[0]["window"] == 2000
    assert of_kind(events, "meter")[1]["tokens"] == 1280


def test_a_table_of_models_that_is_wrong_is_told(empty: Command) -> None:
    (empty.folder / "models.toml").write_text("[small]\nwindow = 'much'\n")
    code, told = empty.fails("chat", "--models", "models.toml")
    assert (code, "window" in told) == (2, True)
