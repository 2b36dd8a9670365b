// @ts-check
/**
 * The agent of docs/tutorial.md: it registers, sends heartbeats, and deregisters when it ends. Needs Node 20 or newer and no packages.
 * examples/agent.js is a complete agent, which also survives errors.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const { ROLLCALL_URL = 'http://127.0.0.1:8080', ROLLCALL_KEY = '', AGENT = 'greeter-1' } = process.env;

/** @param {string} method @param {string} path @param {string} token @param {object} [body] */
async function request(method, path, token, body) {
  const type = body ? { 'content-type': 'application/json' } : {};
  const json = body ? { body: JSON.stringify(body) } : {};
  const response = await fetch(ROLLCALL_URL + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...type },
    ...json,
  });
  const text = await response.text(); // empty after a deregistration
  const answer = text ? JSON.parse(text) : {};
  if (!response.ok) throw new Error(`${answer.code}: ${answer.detail}`);
  return answer;
}

const { agentId, generation, leaseToken } = await request('POST', '/v1/agents', ROLLCALL_KEY, {
  agentId: AGENT,
  takeover: true, // replaces the registration of an earlier process that crashed
  name: 'greeter',
  capabilities: ['greet'],
  costModel: { usdPerTask: 0.01 },
});
console.log(`registered ${agentId}, generation ${generation}`);

const ending = new AbortController();
process.once('SIGINT', () => ending.abort());
process.once('SIGTERM', () => ending.abort());
while (!ending.signal.aborted) {
  const beat = await request('POST', `/v1/agents/${agentId}/heartbeat`, leaseToken, { generation, inFlight: 0 });
  await sleep(beat.nextIntervalMs, undefined, ending).catch(() => {}); // ends early when the process must end
}
await request('DELETE', `/v1/agents/${agentId}?generation=${generation}&reason=shutdown`, leaseToken);
console.log('left');
