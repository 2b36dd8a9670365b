// @ts-check
/**
 * An agent with an HTTP endpoint. It answers tasks, and accepts only calls that Rollcall has signed. Needs Node 20 or newer, no packages:
 *
 *   ROLLCALL_URL=http://127.0.0.1:8080 ROLLCALL_KEY=… PORT=9001 node examples/http-agent.js
 */
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { isGenuine } from './verify-call.js';

const {
  ROLLCALL_URL = 'http://127.0.0.1:8080',
  ROLLCALL_KEY = '',
  AGENT = 'greeter-http',
  PORT = '9001',
} = process.env;
/** The answers by Idempotency-Key: an idempotent agent may receive a call twice. Store them if your agent may restart. */
const answers = new Map();

const server = createServer((request, response) => void handle(request, response));
server.listen(Number(PORT), '127.0.0.1', () => void register());

/** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
async function handle(request, response) {
  const respond = (/** @type {number} */ status, /** @type {object} */ body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (!(await isGenuine(ROLLCALL_URL, AGENT, request.headers['rollcall-token']))) return respond(401, {});
  const { text } = /** @type {{ text: string }} */ (await json(request));
  const key = request.headers['idempotency-key'];
  const answer = { text: `Hello, ${text}!`, usage: { inputTokens: 3, outputTokens: 2 } };
  if (!answers.has(key)) answers.set(key, answer);
  return respond(200, answers.get(key));
}

async function register() {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const endpoint = `http://127.0.0.1:${port}`;
  const about = { name: 'greeter', capabilities: ['greet'], idempotent: true };
  const agent = { agentId: AGENT, takeover: true, endpoint, ...about };
  const { generation, leaseToken, heartbeat } = await post('/v1/agents', ROLLCALL_KEY, agent);
  console.log(`registered ${AGENT} at ${endpoint}`);
  const beat = () => post(`/v1/agents/${AGENT}/heartbeat`, leaseToken, { generation }).catch(console.error);
  setInterval(() => void beat(), heartbeat.leaseMs / 4); // examples/agent.js shows how to survive an eviction
}

/** @param {string} path @param {string} token @param {object} body @returns {Promise<any>} */
async function post(path, token, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(ROLLCALL_URL + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return await response.json();
}
