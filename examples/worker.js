// An agent that takes its tasks, so it needs no address. It needs Node 20 or newer and nothing else:
//   ROLLCALL_URL=http://127.0.0.1:8080 ROLLCALL_KEY=… node examples/worker.js
const { ROLLCALL_URL = 'http://127.0.0.1:8080', ROLLCALL_KEY = '', AGENT_ID = 'worker-js' } = process.env;
const stop = new AbortController();
const pause = (ms = 500) => new Promise((resolve) => setTimeout(resolve, ms));
/** @type {Record<string, any>} */
let agent = { generation: 0, leaseToken: ROLLCALL_KEY };

/** @returns {Promise<any>} */
async function send(method = 'POST', path = '', body = {}) {
  const headers = { authorization: `Bearer ${agent.leaseToken}`, 'content-type': 'application/json' };
  const signal = path.endsWith('/take') ? stop.signal : undefined;
  const request = { method, headers, body: JSON.stringify(body), signal };
  const response = await fetch(ROLLCALL_URL + path, request);
  return { status: response.status, body: response.status === 204 ? {} : await response.json() };
}

async function register() {
  agent.leaseToken = ROLLCALL_KEY;
  const declared = { agentId: AGENT_ID, name: AGENT_ID, capabilities: ['shout'], work: 'pull', idempotent: true };
  const { status, body } = await send('POST', '/v1/agents', { ...declared, takeover: true });
  if (status !== 201) throw new Error(body.detail);
  agent = body;
  console.log(`registered as ${AGENT_ID}, generation ${agent.generation}`);
}

/** Sends a request of this registration until there is an answer. An answer without effect, such as TASK_CANCELLED, is empty. */
async function ask(path = '', body = {}) {
  for (;;) {
    const { generation } = agent;
    const sent = send('POST', `/v1/agents/${AGENT_ID}${path}`, { generation, ...body });
    const answer = await sent.catch(() => ({ status: 503, body: { code: '' } })); // the replica is restarting
    if (answer.status === 200 || stop.signal.aborted) return answer.body;
    if (generation !== agent.generation) continue;
    if (answer.body.code === 'REGISTER_AGAIN') await register();
    else if (answer.body.code === 'STALE_GENERATION')
      stop.abort(); // replaced by another process
    else if (answer.status < 500 && answer.status !== 429) return console.error(answer.body.detail) ?? {};
    else await pause();
  }
}

async function beat() {
  for (;;) await pause((await ask('/heartbeat')).nextIntervalMs);
}

for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => stop.abort());
await register();
void beat();
while (!stop.signal.aborted) {
  const { tasks = [] } = await ask('/tasks/take', { waitMs: 20_000, holding: [] });
  for (const { callId, text } of tasks) {
    const answer = text.toUpperCase(); // the work of the agent
    const usage = { inputTokens: text.length, outputTokens: answer.length };
    await ask(`/tasks/${callId}/result`, { text: answer, usage });
  }
}
await send('DELETE', `/v1/agents/${AGENT_ID}?generation=${agent.generation}&reason=shutdown`);
process.exit();
