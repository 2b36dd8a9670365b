// @ts-check
/**
 * An agent that uses A2A 1.0. It answers tasks, and accepts only calls that Rollcall has signed. Needs Node 20 or newer, no packages:
 *
 *   ROLLCALL_URL=http://127.0.0.1:8080 ROLLCALL_KEY=… PORT=9002 node examples/a2a-agent.js
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { isGenuine } from './verify-call.js';

const { ROLLCALL_URL = 'http://127.0.0.1:8080', ROLLCALL_KEY = '', AGENT = 'greeter-a2a', PORT = '9002' } = process.env;
const tasks = new Map(); // Rollcall may ask for a task later: store them if your agent may restart

/** @param {string} method @param {any} params */
function answer(method, params) {
  if (method === 'GetTask' && tasks.has(params.id)) return { result: tasks.get(params.id) };
  if (method !== 'SendMessage') return { error: { code: -32001, message: 'There is no such task.' } };
  const text = params.message.parts.map((/** @type {{ text?: string }} */ part) => part.text ?? '').join('');
  const artifacts = [{ artifactId: 'answer', parts: [{ text: `Hello, ${text}!` }] }];
  const { contextId = randomUUID() } = params.message;
  const task = { id: randomUUID(), contextId, status: { state: 'TASK_STATE_COMPLETED' }, artifacts };
  return { result: { task: tasks.set(task.id, task).get(task.id) } };
}

const server = createServer((request, response) => void handle(request, response));
server.listen(Number(PORT), '127.0.0.1', () => void register());

/** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
async function handle(request, response) {
  const respond = (/** @type {object} */ body, status = 200) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (request.method === 'GET') return respond(card()); // the card is public
  if (!(await isGenuine(ROLLCALL_URL, AGENT, request.headers['rollcall-token']))) return respond({}, 401);
  const { id, method, params } = /** @type {any} */ (await json(request));
  return respond({ jsonrpc: '2.0', id, ...answer(method, params) });
}

async function register() {
  const agent = { agentId: AGENT, takeover: true, agentCard: card() };
  const { generation, leaseToken: token, heartbeat } = await post('/v1/agents', ROLLCALL_KEY, agent);
  console.log(`registered ${AGENT} at ${card().supportedInterfaces[0]?.url}`);
  const beat = () => void post(`/v1/agents/${AGENT}/heartbeat`, token, { generation }).catch(console.error);
  setInterval(beat, heartbeat.leaseMs / 4); // examples/agent.js shows how to survive an eviction
}

function card() {
  const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`;
  const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
  const skills = [{ id: 'greet', name: 'Greet', description: 'Greets.', tags: ['greet'] }];
  const about = { name: 'greeter', description: 'Greets.', version: '1', capabilities: {}, skills };
  return { ...about, supportedInterfaces, defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] };
}

/** @param {string} path @param {string} token @param {object} body @returns {Promise<any>} */
async function post(path, token, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return await (await fetch(ROLLCALL_URL + path, { method: 'POST', headers, body: JSON.stringify(body) })).json();
}
