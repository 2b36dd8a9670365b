"""The tests of rollcall_agent.py. They need a server: ROLLCALL_URL=… ROLLCALL_KEY=<admin key> python3 -m unittest discover examples/python"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import uuid
from pathlib import Path
from typing import Any, Callable, Dict, List

from rollcall_agent import Result, Rollcall, RollcallError, Task

ROLLCALL = Rollcall(os.environ.get("ROLLCALL_URL", "http://127.0.0.1:8080"), os.environ["ROLLCALL_KEY"])


def until(what: str, check: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not check():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within 20 seconds: {what}")
        time.sleep(0.05)


class Served:
    """An agent in a thread of this process."""

    def __init__(self, handle: Callable[[Task], Result], **options: Any) -> None:
        self.agent_id = f"py-{uuid.uuid4().hex[:8]}"
        self.stop = threading.Event()
        self.reason = ""
        self.failure: List[RollcallError] = []
        self.options: Dict[str, Any] = {"stop": self.stop, "on_error": lambda _: None, **options}
        self.thread = threading.Thread(target=self.serve, args=(handle,))
        self.thread.start()
        until("the agent is registered", lambda: self.state() == "active")

    def serve(self, handle: Callable[[Task], Result]) -> None:
        try:
            self.reason = ROLLCALL.serve(self.agent_id, ["python"], handle, **self.options)
        except RollcallError as error:
            self.failure.append(error)

    def state(self) -> str:
        try:
            agent = ROLLCALL.call("GET", f"/v1/agents/{self.agent_id}")
        except RollcallError:
            return "unknown"
        return str(agent.get("leaveReason") or agent["status"])

    def operate(self, action: str) -> None:
        ROLLCALL.call("POST", f"/v1/agents/{self.agent_id}/{action}", {})

    def start(self, text: str) -> str:
        return str(ROLLCALL.call("POST", "/v1/runs", {"agent": self.agent_id, "input": text})["id"])

    def end(self) -> str:
        self.thread.join(30)
        return self.reason


def ended(run_id: str) -> Dict[str, Any]:
    return ROLLCALL.call("GET", f"/v1/runs/{run_id}?waitMs=30000")


def text_of(run: Dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in run["result"]["parts"])


class ServeTest(unittest.TestCase):
    def serve(self, handle: Callable[[Task], Result], **options: Any) -> Served:
        served = Served(handle, **options)
        self.addCleanup(served.end)
        self.addCleanup(served.stop.set)
        return served

    def test_answers_a_task_and_leaves_when_it_is_stopped(self) -> None:
        def shout(task: Task) -> Result:
            task.progress("Raising my voice.")
            task.write(task.text.upper())
            return {"text": task.text.upper(), "usage": {"inputTokens": 5, "outputTokens": 7}}

        served = self.serve(shout)
        run = ROLLCALL.run(agent=served.agent_id, input="hello")
        self.assertEqual((run["state"], text_of(run)), ("completed", "HELLO"))
        self.assertEqual((run["usage"]["inputTokens"], run["usage"]["outputTokens"]), (5, 7))
        served.stop.set()
        self.assertEqual((served.end(), served.state()), ("shutdown", "shutdown"))

    def test_an_error_of_the_handler_fails_the_run(self) -> None:
        def fail(_: Task) -> Result:
            raise ValueError("the disk is full")

        served = self.serve(fail)
        run = ROLLCALL.run(agent=served.agent_id, input="hello")
        self.assertEqual(run["state"], "failed")
        self.assertIn("the disk is full", str(run["result"]))

    def test_registers_again_after_an_eviction_and_executes_an_idempotent_task_once(self) -> None:
        gate = threading.Event()
        calls: List[str] = []

        def wait(task: Task) -> Result:
            calls.append(task.call_id)
            gate.wait(20)
            return "once"

        served = self.serve(wait, idempotent=True)
        run_id = served.start("work")
        until("the task is executed", lambda: len(calls) == 1)
        served.operate("evict")
        until("it has registered again", lambda: served.state() == "active")
        gate.set()
        self.assertEqual(text_of(ended(run_id)), "once")
        self.assertEqual(calls, [f"{run_id}-1"])

    def test_a_drained_agent_finishes_the_tasks_that_were_sent_to_it(self) -> None:
        gate = threading.Event()
        calls: List[str] = []

        def wait(task: Task) -> Result:
            calls.append(task.call_id)
            gate.wait(20)
            return "done"

        served = self.serve(wait)
        runs = [served.start("one"), served.start("two")]
        until("a task is executed", lambda: len(calls) == 1)
        served.operate("drain")
        gate.set()
        self.assertEqual((served.end(), served.state()), ("drained", "drained"))
        self.assertEqual([ended(run)["state"] for run in runs], ["completed", "completed"])

    def test_a_cancelled_task_is_reported_to_its_handler(self) -> None:
        cancelled = threading.Event()

        def wait(task: Task) -> Result:
            if task.cancelled.wait(20):
                cancelled.set()
            return None

        served = self.serve(wait)
        run_id = served.start("work")
        until("the run is running", lambda: ROLLCALL.call("GET", f"/v1/runs/{run_id}")["state"] == "running")
        time.sleep(0.5)
        ROLLCALL.call("POST", f"/v1/runs/{run_id}/cancel", {})
        self.assertTrue(cancelled.wait(20))

    def test_raises_if_it_may_not_register(self) -> None:
        with self.assertRaises(RollcallError) as raised:
            Rollcall(ROLLCALL.url, "rk_wrong").serve("wrong", ["python"], lambda _: None, stop=threading.Event())
        self.assertEqual(raised.exception.code, "UNAUTHENTICATED")

    def test_the_program_answers_a_task_and_leaves_on_sigterm(self) -> None:
        environment = {**os.environ, "ROLLCALL_URL": ROLLCALL.url, "ROLLCALL_KEY": ROLLCALL.key}
        program = str(Path(__file__).with_name("rollcall_agent.py"))
        with subprocess.Popen([sys.executable, program], env=environment, stdout=subprocess.PIPE, text=True) as agent:
            run = None
            deadline = time.monotonic() + 20
            while run is None and time.monotonic() < deadline:
                try:
                    run = ROLLCALL.run(agent="shouter-py", input="hello")
                except RollcallError:
                    time.sleep(0.1)  # not registered yet
            agent.send_signal(signal.SIGTERM)
            printed, _ = agent.communicate(timeout=40)
        self.assertEqual(text_of(run or {"result": {"parts": []}}), "HELLO")
        self.assertEqual((agent.returncode, printed), (0, "shouter-py has left: shutdown\n"))


class FollowTest(unittest.TestCase):
    def test_yields_events_from_now_and_continues_after_a_cursor(self) -> None:
        cursor = ROLLCALL.call("GET", "/v1/events?after=latest&limit=1")["next"]
        ids = [f"followed-{uuid.uuid4().hex[:8]}" for _ in range(3)]
        for agent_id in ids:
            ROLLCALL.call("POST", "/v1/agents", {"agentId": agent_id, "name": agent_id, "capabilities": ["seen"]})
        seen: List[str] = []
        for event in ROLLCALL.follow(after=cursor, types=["agent.joined"]):
            if event["subject"] in ids:
                seen.append(event["subject"])
                cursor = event["cursor"]
            if len(seen) == 2:
                break
        for event in ROLLCALL.follow(after=cursor, types=["agent.joined"]):
            if event["subject"] in ids:
                seen.append(event["subject"])
                break
        self.assertEqual(seen, ids)

    def test_raises_when_the_key_is_wrong(self) -> None:
        with self.assertRaises(RollcallError) as raised:
            next(Rollcall(ROLLCALL.url, "rk_wrong").follow())
        self.assertEqual((raised.exception.code, raised.exception.status), ("UNAUTHENTICATED", 401))

    def test_yields_a_snapshot_first_when_the_cursor_is_not_usable(self) -> None:
        first = next(ROLLCALL.follow(after="999999999"))
        self.assertEqual(first["type"], "snapshot")
        self.assertIn("items", first["data"])


class CallTest(unittest.TestCase):
    def test_reports_a_server_that_is_away(self) -> None:
        with self.assertRaises(RollcallError) as raised:
            Rollcall("http://127.0.0.1:9").call("GET", "/v1/me", retries=1)
        self.assertEqual(raised.exception.code, "SERVER_UNREACHABLE")

    def test_reports_the_code_of_a_rejection(self) -> None:
        with self.assertRaises(RollcallError) as raised:
            ROLLCALL.run(agent="unknown-agent", input="hello")
        self.assertEqual((raised.exception.status // 100, raised.exception.code[:3]), (4, raised.exception.code[:3]))


if __name__ == "__main__":
    unittest.main()
