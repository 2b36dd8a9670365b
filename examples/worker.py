"""An agent that takes its tasks, so it needs no address. It needs only the standard library:
ROLLCALL_URL=http://127.0.0.1:8080 ROLLCALL_KEY=… python3 examples/worker.py"""
import json, os, signal, sys, threading, time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

URL, AGENT = os.environ.get("ROLLCALL_URL", "http://127.0.0.1:8080"), os.environ.get("AGENT_ID", "worker-py")
registration, lock = {}, threading.Lock()

def send(method, path, body=None, key=None):
    headers = {"authorization": f"Bearer {key or registration['leaseToken']}", "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(URL + path, data, headers, method=method), timeout=60) as response:
        return json.loads(response.read() or b"{}")

def register():
    declared = {"agentId": AGENT, "name": AGENT, "capabilities": ["shout"], "work": "pull", "idempotent": True}
    registration.update(send("POST", "/v1/agents", {**declared, "takeover": True}, os.environ["ROLLCALL_KEY"]))
    print(f"registered as {AGENT}, generation {registration['generation']}", flush=True)

def ask(path, body={}):
    """Sends a request of this registration until there is an answer."""
    while True:
        generation = registration["generation"]
        try:
            return send("POST", f"/v1/agents/{AGENT}{path}", {"generation": generation, **body})
        except HTTPError as error:
            problem = json.loads(error.read() or b"{}")
            if problem.get("code") == "STALE_GENERATION" and generation == registration["generation"]:
                os.kill(os.getpid(), signal.SIGTERM)  # another process has replaced this one
            elif problem.get("code") == "REGISTER_AGAIN":
                with lock:
                    if generation == registration["generation"]:
                        register()
            elif error.code < 500 and error.code != 429:
                return print(problem.get("detail"), file=sys.stderr)  # such as TASK_CANCELLED
            time.sleep(0.5)
        except OSError:
            time.sleep(0.5)  # the replica is restarting: another one answers

def beat():
    while True:
        time.sleep((ask("/heartbeat") or {}).get("nextIntervalMs", 1000) / 1000)

signal.signal(signal.SIGTERM, lambda *_: sys.exit())
register()
threading.Thread(target=beat, daemon=True).start()
try:
    while True:
        for task in (ask("/tasks/take", {"waitMs": 20000, "holding": []}) or {}).get("tasks", []):
            answer = task["text"].upper()  # the work of the agent
            usage = {"inputTokens": len(answer), "outputTokens": len(answer)}
            ask(f"/tasks/{task['callId']}/result", {"text": answer, "usage": usage})
finally:
    send("DELETE", f"/v1/agents/{AGENT}?generation={registration['generation']}&reason=shutdown")
