"""Rollcall in Python: serve an agent, run agents and follow events. One file, the standard library alone, Python 3.9 or newer.

    rollcall = Rollcall("http://127.0.0.1:8080", key)
    rollcall.serve("shouter", ["shout"], lambda task: task.text.upper())   # returns when the agent has left
    rollcall.run(agent="shouter", input="hello")                           # the finished run
    for event in rollcall.follow(types=["agent.*"]): print(event["type"])  # over lost connections and restarts

Started as a program, it is the agent `shouter`:

    ROLLCALL_URL=http://127.0.0.1:8080 ROLLCALL_KEY=… python3 examples/python/rollcall_agent.py
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlencode, urlsplit

Json = Dict[str, Any]
Result = Union[str, Json, None]

FINAL_REASONS = {"deregistered", "shutdown", "drained", "budget_exhausted"}
LOST_CODES = {"REGISTER_AGAIN", "UNAUTHENTICATED", "LEASE_TOKEN_REFUSED", "AGENT_NOT_FOUND", "GENERATION_AHEAD"}
CURSOR_CODES = {"CURSOR_EXPIRED", "CURSOR_AHEAD", "CURSOR_FOREIGN"}
UNFINISHED = {"queued", "running"}
MAX_PAUSE = 10.0
MAX_SILENCE = 45.0  # the server sends at least a comment every 15 seconds
WAIT_MS = 20_000
CLOSE_TIMEOUT = 25.0


class RollcallError(Exception):
    """A rejection by the API, or a server that cannot be reached. `code` is stable: see docs/errors.md."""

    def __init__(self, code: str, detail: str, status: int = 0, problem: Optional[Json] = None) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.status = status
        self.problem: Json = problem or {}

    @property
    def is_temporary(self) -> bool:
        """Whether a repetition may succeed."""
        return self.status in (0, 429) or self.status >= 500 or self.code == "IDEMPOTENCY_IN_PROGRESS"


def _pause(failures: int, error: RollcallError) -> float:
    """How long to wait before the next attempt. The pauses are random, so that many clients do not return at the same time."""
    wanted = error.problem.get("retryAfterMs")
    if wanted is not None:
        return float(wanted) / 1000 * random.uniform(1, 1.25)
    return min(MAX_PAUSE, 0.2 * 2**failures) * random.uniform(0.5, 1)


def _error_of(status: int, text: bytes) -> RollcallError:
    try:
        problem: Json = json.loads(text)
    except ValueError:
        problem = {}
    detail = str(problem.get("detail", f"The response has status {status} and is not from Rollcall."))
    return RollcallError(str(problem.get("code", "RESPONSE_UNREADABLE")), detail, status, problem)


class Rollcall:
    """The API of a Rollcall server."""

    def __init__(self, url: str = "http://127.0.0.1:8080", key: str = "") -> None:
        self.url = url.rstrip("/")
        self.key = key

    def call(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        *,
        key: Optional[str] = None,
        timeout: float = 60,
        retries: int = 5,
        idempotency_key: Optional[str] = None,
        on_connect: Callable[[HTTPConnection], None] = lambda _: None,
    ) -> Json:
        """Sends a request. It is repeated after 429, 503 and a lost connection, always with one Idempotency-Key, so it has one effect."""
        headers = {"idempotency-key": idempotency_key or uuid.uuid4().hex} if method != "GET" else {}
        for failures in range(retries + 1):
            try:
                with self._open(method, path, body, key, timeout, headers, on_connect) as response:
                    return json.loads(response.read() or b"{}")
            except RollcallError as error:
                is_repeated = error.status in (0, 429, 503) or (error.code == "IDEMPOTENCY_IN_PROGRESS" and failures > 0)
                if failures == retries or not is_repeated:
                    raise
                time.sleep(_pause(failures, error))
            except (OSError, HTTPException) as error:
                if failures == retries:
                    raise RollcallError("SERVER_UNREACHABLE", f"{self.url} does not respond: {error}") from error
                time.sleep(_pause(failures, RollcallError("", "")))
        raise AssertionError("not reached")

    def run(self, **body: Any) -> Json:
        """Starts a run, such as `run(agent="shouter", input="hello")`, and waits until it is finished or waits for its caller."""
        run = self.call("POST", "/v1/runs", body)
        while run["state"] in UNFINISHED:
            run = self.call("GET", f"/v1/runs/{run['id']}?waitMs=50000", timeout=65)
        return run

    def follow(self, after: str = "latest", types: Sequence[str] = ()) -> Iterator[Json]:
        """Yields each event after `after` once and in order. Continue later after `event["cursor"]`. If the log cannot be continued from
        there, it yields `{"type": "snapshot", "data": …, "cursor": …}` first. Raises on 401, 403 and 404."""
        failures = 0
        while True:
            try:
                if after == "latest":  # a cursor, so that the next connection misses nothing
                    after = self.call("GET", "/v1/events?after=latest&limit=1")["next"]
                query = urlencode([("after", after), *(("types", one) for one in types)])
                for event, cursor, data in self._stream(f"/v1/events/stream?{query}"):
                    failures = 0
                    if event == "end":
                        raise RollcallError(data["code"], data["detail"])
                    after = cursor
                    if data is not None:
                        yield {**data, "cursor": cursor}
            except RollcallError as error:
                if error.code in CURSOR_CODES:
                    snapshot = self.call("GET", "/v1/events/snapshot")
                    after = snapshot["cursor"]
                    yield {"type": "snapshot", "data": snapshot, "cursor": after}
                    continue
                if not error.is_temporary:
                    raise
                time.sleep(_pause(failures, error))
                failures += 1

    def serve(
        self,
        agent_id: str,
        capabilities: Sequence[str],
        handle: Callable[[Task], Result],
        *,
        capacity: int = 1,
        idempotent: bool = False,
        stop: Optional[threading.Event] = None,
        on_error: Callable[[RollcallError], None] = lambda error: print(error, file=sys.stderr),
        **registration: Any,
    ) -> str:
        """Serves an agent until SIGTERM, until `stop` is set, or until it is drained, and returns the reason. `handle` is called in a
        thread for each task, and returns a text or a result. Raises if the agent cannot register any more."""
        declared = {"name": agent_id, "capabilities": list(capabilities), "capacity": capacity, "idempotent": idempotent}
        agent = _Agent(self, {"agentId": agent_id, "work": "pull", **declared, **registration}, handle, on_error)
        if stop is None:
            stop = threading.Event()
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, lambda *_: stop.set())
        return agent.serve(stop)

    @contextmanager
    def _open(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]],
        key: Optional[str],
        timeout: float,
        headers: Mapping[str, str],
        on_connect: Callable[[HTTPConnection], None] = lambda _: None,
    ) -> Iterator[HTTPResponse]:
        address = urlsplit(self.url)
        kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
        connection = kind(address.hostname or "", address.port, timeout=timeout)
        sent = {"authorization": f"Bearer {key or self.key}", **headers}
        data = None
        if body is not None:
            sent["content-type"] = "application/json"
            data = json.dumps(body).encode()
        try:
            connection.connect()
            on_connect(connection)
            connection.request(method, address.path + path, data, sent)
            response = connection.getresponse()
            if response.status >= 400:
                raise _error_of(response.status, response.read())
            yield response
        finally:
            connection.close()

    def _stream(self, path: str) -> Iterator[Any]:
        """The messages of one connection: the event, its id, and its data. A position has no data."""
        try:
            with self._open("GET", path, None, None, MAX_SILENCE, {"accept": "text/event-stream"}) as response:
                message: Dict[str, str] = {}
                for raw in response:
                    line = raw.decode().rstrip("\r\n")
                    name, _, value = line.partition(": ")
                    if name and not line.startswith(":"):
                        message[name] = value
                    elif line == "" and message:
                        data = json.loads(message["data"]) if "data" in message else None
                        yield message.get("event", "message"), message.get("id", ""), data
                        message = {}
        except (OSError, HTTPException) as error:
            raise RollcallError("SERVER_UNREACHABLE", f"The stream was interrupted: {error}") from error
        raise RollcallError("STREAM_ENDED", "The server closed the stream.")


@dataclass
class Task:
    """A task, and what its handler can do besides returning the answer."""

    call_id: str
    run_id: str
    text: str
    message: Json  # all fields: data, parts, conversationId, budget, context
    generation: Optional[int]  # the registration that holds the task; None if that registration has ended
    _agent: _Agent
    cancelled: threading.Event = field(default_factory=threading.Event)  # set when the result is not needed any more
    is_running: bool = True

    def progress(self, text: str) -> None:
        """Reports what the agent does to everybody who follows the run."""
        self._agent.report_progress(self, {"progress": text})

    def write(self, text: str) -> None:
        """Reports a piece of the answer."""
        self._agent.report_progress(self, {"text": text})


class _Lost(Exception):
    """The registration has ended. The agent registers again."""


class _Agent:
    """The registration of an agent and its tasks. A task is executed once: if it is delivered again to the next registration, its execution
    continues, and the result is reported by the registration that holds it then."""

    def __init__(
        self, client: Rollcall, declared: Json, handle: Callable[[Task], Result], on_error: Callable[[RollcallError], None]
    ) -> None:
        self.client = client
        self.declared = declared
        self.handle = handle
        self.on_error = on_error
        self.changed = threading.Condition()
        self.registering = threading.Lock()
        self.tasks: Dict[str, Task] = {}
        self.registration: Optional[Json] = None
        self.token: Optional[str] = None  # the lease token of the last registration
        self.state = "serving"
        self.taking: Optional[HTTPConnection] = None  # the connection of the request that waits for tasks
        self.reason: Optional[str] = None
        self.failure: Optional[Exception] = None

    @property
    def has_ended(self) -> bool:
        return self.reason is not None or self.failure is not None

    def serve(self, stop: threading.Event) -> str:
        self.registered()
        for loop in (self._beat, lambda: self._close_after(stop)):
            threading.Thread(target=self._run, args=(loop,), daemon=True).start()
        self._run(self._take)
        for task in list(self.tasks.values()):
            task.cancelled.set()
        if self.failure is not None:
            raise self.failure
        if self.reason in ("shutdown", "drained"):
            self._leave()
        return str(self.reason)

    def registered(self) -> Json:
        """The current registration. Registers if there is none. Only the first registration takes over from a crashed process."""
        with self.registering:
            key = uuid.uuid4().hex
            failures = 0
            while self.registration is None:
                if self.has_ended:
                    raise _Lost()
                takes_over = {"takeover": True} if self.token is None else {"leaseToken": self.token}
                try:
                    body = {**self.declared, **takes_over}
                    self.registration = self.client.call("POST", "/v1/agents", body, timeout=10, idempotency_key=key)
                    self.token = self.registration["leaseToken"]
                except RollcallError as error:
                    if error.code == "AGENT_ALREADY_REGISTERED" and self.token is not None:
                        self._end("replaced")
                    elif not error.is_temporary:
                        self._end(None, error)
                        raise
                    else:
                        self.on_error(error)
                        time.sleep(_pause(failures, error))
                        failures += 1
            return self.registration

    def ask(self, registration: Json, path: str, body: Mapping[str, Any], wait_ms: int = 0) -> Json:
        """Sends a request of this registration until there is an answer. Raises `_Lost` if the registration has ended, or if a request
        that waits was interrupted."""
        failures = 0
        while True:
            request = {"generation": registration["generation"], **body}
            timeout = registration["heartbeat"]["leaseMs"] / 8000 + wait_ms / 1000
            agent = f"/v1/agents/{quote(registration['agentId'], safe='')}"
            try:
                token = registration["leaseToken"]
                on_connect = self._on_connect if wait_ms > 0 else lambda _: None
                return self.client.call(
                    "POST", agent + path, request, key=token, timeout=timeout, retries=0, on_connect=on_connect
                )
            except RollcallError as error:
                is_interrupted = wait_ms > 0 and self.state != "serving"
                if self.registration is not registration or self.has_ended or is_interrupted:
                    raise _Lost() from error
                is_final = error.code == "REGISTER_AGAIN" and error.problem.get("reason") in FINAL_REASONS
                if error.code == "STALE_GENERATION" or is_final:
                    self._end("replaced" if not is_final else str(error.problem["reason"]))
                    raise _Lost() from error
                if error.code in LOST_CODES:
                    self._lose(registration)
                    raise _Lost() from error
                if not error.is_temporary:
                    raise
                self.on_error(error)
                time.sleep(_pause(failures, error))
                failures += 1

    def report_progress(self, task: Task, piece: Json) -> None:
        """Progress is not stored, so a piece that cannot be sent is dropped."""
        registration = self.registration
        if task.cancelled.is_set() or registration is None or task.generation != registration["generation"]:
            return
        try:
            self.ask(registration, f"/tasks/{task.call_id}/progress", piece)
        except RollcallError as error:
            if error.code.startswith("TASK_"):
                self._cancel([task.call_id])
        except _Lost:
            return

    def _run(self, loop: Callable[[], None]) -> None:
        """Runs a loop until the agent has ended. An error that a repetition does not change ends the agent."""
        while not self.has_ended:
            try:
                loop()
            except _Lost:
                continue
            except Exception as error:  # noqa: BLE001 – `serve` raises it
                self._end(None, error)

    def _take(self) -> None:
        """Takes tasks until the agent is drained or closed. A draining agent also takes the tasks that wait for it: nobody else gets them."""
        with self.changed:
            self.changed.wait_for(lambda: self.has_ended or self.state == "closing" or self._in_flight() < self._capacity())
        if self.has_ended:
            return
        state = self.state
        taken = self._take_once(WAIT_MS if state == "serving" else 0)
        if state == "serving" or (state == "draining" and taken):
            return
        with self.changed:
            self.changed.wait_for(lambda: self.has_ended or self._in_flight() == 0 or self.state == "serving")
            if not self.has_ended and self.state != "serving":
                self._end("drained" if self.state == "draining" else "shutdown")

    def _take_once(self, wait_ms: int) -> int:
        registration = self.registered()
        generation = registration["generation"]
        with self.changed:
            holding = [task.call_id for task in self.tasks.values() if task.generation == generation]
            free = max(1, min(100, self._capacity() - self._in_flight()))
        body = {"max": free, "waitMs": wait_ms, "holding": holding}
        delivery = self.ask(registration, "/tasks/take", body, wait_ms)
        self._cancel(delivery["cancelled"])
        for message in delivery["tasks"]:
            self._accept(generation, message)
        return len(delivery["tasks"])

    def _accept(self, generation: int, message: Json) -> None:
        with self.changed:
            known = self.tasks.get(message["callId"])
            if known is not None and not known.cancelled.is_set():
                known.generation = generation  # its execution continues
                self.changed.notify_all()
                return
            task = Task(message["callId"], message["runId"], message["text"], message, generation, self)
            self.tasks[task.call_id] = task
        threading.Thread(target=self._execute, args=(task,), daemon=True).start()

    def _execute(self, task: Task) -> None:
        try:
            answer = self.handle(task)
            result: Json = answer if isinstance(answer, dict) else {"text": answer or ""}
        except Exception as error:  # noqa: BLE001 – the run fails with the message of the handler
            result = {"outcome": "failed", "detail": str(error)[:4000] or type(error).__name__}
        with self.changed:
            task.is_running = False
            self.changed.notify_all()
        try:
            self._report(task, result)
        finally:
            with self.changed:
                if self.tasks.get(task.call_id) is task:
                    del self.tasks[task.call_id]
                self.changed.notify_all()

    def _report(self, task: Task, result: Json) -> None:
        """Sends the result until there is an answer, or until it is not needed any more."""
        while not task.cancelled.is_set():
            with self.changed:
                self.changed.wait_for(
                    lambda: task.cancelled.is_set() or self.has_ended or (task.generation is not None and self.registration is not None)
                )
                registration = self.registration
            if self.has_ended or registration is None or task.generation != registration["generation"]:
                if self.has_ended:
                    return
                continue
            try:
                self.ask(registration, f"/tasks/{task.call_id}/result", result)
                return
            except _Lost:
                continue
            except RollcallError as error:
                self.on_error(error)
                if error.status not in (400, 413):
                    return  # such as TASK_CANCELLED
                result = {"outcome": "failed", "detail": f"The result of the handler was rejected: {error}"[:4000]}

    def _beat(self) -> None:
        registration = self.registered()
        with self.changed:
            in_flight = self._in_flight()
        load = min(1.0, in_flight / self._capacity())
        answer = self.ask(registration, "/heartbeat", {"inFlight": in_flight, "load": load})
        self._cancel(answer.get("cancelled", []))
        self._enter("draining" if answer.get("desiredState") == "draining" else "serving")
        with self.changed:
            self.changed.wait_for(lambda: self.has_ended or self.registration is None, answer["nextIntervalMs"] / 1000)

    def _close_after(self, stop: threading.Event) -> None:
        stop.wait()
        self._enter("closing")
        with self.changed:
            self.changed.wait_for(lambda: self.has_ended, CLOSE_TIMEOUT)
        self._end("shutdown")

    def _enter(self, state: str) -> None:
        with self.changed:
            if self.state == "closing" or self.state == state:
                return
            self.state = state
            if state != "serving":
                self._interrupt()
            self.changed.notify_all()

    def _on_connect(self, connection: HTTPConnection) -> None:
        with self.changed:
            self.taking = connection
            if self.state != "serving":
                self._interrupt()

    def _interrupt(self) -> None:
        """Ends the request that waits for tasks. A task that was on its way is delivered again, because it is not in `holding`."""
        try:
            if self.taking is not None and self.taking.sock is not None:
                self.taking.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended by itself

    def _lose(self, registration: Json) -> None:
        """An idempotent agent gets its tasks again from its next registration; other tasks wait for a review."""
        with self.changed:
            if self.registration is not registration:
                return
            self.registration = None
            for task in list(self.tasks.values()):
                is_abandoned = task.generation is None and not task.is_running
                if is_abandoned or not self.declared["idempotent"]:
                    task.cancelled.set()
                task.generation = None
            self.changed.notify_all()

    def _cancel(self, call_ids: List[str]) -> None:
        with self.changed:
            for call_id in call_ids:
                task = self.tasks.get(call_id)
                if task is not None:
                    task.generation = None
                    task.cancelled.set()
            self.changed.notify_all()

    def _end(self, reason: Optional[str], failure: Optional[Exception] = None) -> None:
        with self.changed:
            if not self.has_ended:
                self.reason, self.failure = reason, failure
            self.changed.notify_all()

    def _leave(self) -> None:
        """If the server is away, the registration ends with its lease."""
        registration = self.registration
        if registration is None:
            return
        agent = quote(registration["agentId"], safe="")
        path = f"/v1/agents/{agent}?generation={registration['generation']}&reason=shutdown"
        try:
            self.client.call("DELETE", path, key=registration["leaseToken"], timeout=5, retries=2)
        except RollcallError as error:
            self.on_error(error)

    def _in_flight(self) -> int:
        return sum(task.is_running or task.generation is not None for task in self.tasks.values())

    def _capacity(self) -> int:
        return int(self.declared["capacity"])


if __name__ == "__main__":
    rollcall = Rollcall(os.environ.get("ROLLCALL_URL", "http://127.0.0.1:8080"), os.environ["ROLLCALL_KEY"])
    print("shouter-py has left:", rollcall.serve("shouter-py", ["shout"], lambda task: task.text.upper()))
