/**
 * One agent that takes its tasks, in a process of its own that may be killed at any time: `node agent.process.js <agentId> <rest|socket>
 * <idempotent> <log file> <shortest work in ms> <longest>`. It writes a line to the log before it executes a task and after its result was accepted. The parent sends the URLs of
 * the replicas.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { tokensOf } from './storm.task.js';

const [agentId = '', transport = 'rest', idempotent = 'false', log = '', ...workMs] = process.argv.slice(2);
const [shortestMs = 0, longestMs = 0] = workMs.map(Number);
const KEY = process.env['ROLLCALL_ADMIN_KEY'] ?? '';
const SLOTS = 2;
const RETRY_MS = 100;
const BEAT_EVERY_MS = 3_000;

type Body = Record<string, unknown>;
interface Task {
  readonly callId: string;
}

let urls: string[] = [];
let registration = { generation: 0, leaseToken: KEY };
/** The tasks of this registration that have no accepted result, and their results. */
const held = new Map<string, Body | undefined>();

const note = (what: string, callId: string): void => appendFileSync(log, `${what} ${callId} ${agentId}\n`);
const anyUrl = (): string => urls[Math.floor(Math.random() * urls.length)] ?? '';
const resultOf = (callId: string): Body => ({
  text: `done ${callId}`,
  usage: { inputTokens: tokensOf(callId), outputTokens: 1 },
});

async function post(path: string, body: Body): Promise<{ status: number; body: Body }> {
  try {
    const headers = { authorization: `Bearer ${registration.leaseToken}`, 'content-type': 'application/json' };
    const response = await fetch(anyUrl() + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, body: (await response.json()) as Body };
  } catch {
    return { status: 503, body: {} }; // the replica was killed
  }
}

/** Work of an earlier registration is not reported: its tasks were offered again or are lost. */
async function register(): Promise<void> {
  held.clear();
  registration.leaseToken = KEY;
  const declared = { agentId, name: agentId, capabilities: ['storm'], work: 'pull', idempotent: idempotent === 'true' };
  for (;;) {
    const { status, body } = await post('/v1/agents', { ...declared, takeover: true });
    if (status === 201) return void (registration = body as typeof registration);
    await delay(RETRY_MS);
  }
}

/** Sends a request of this registration until there is an answer; undefined if it was rejected. */
async function ask(path: string, body: Body = {}): Promise<Body | undefined> {
  for (;;) {
    const { generation } = registration;
    const answer = await post(`/v1/agents/${agentId}${path}`, { generation, ...body });
    if (answer.status === 200) return answer.body;
    const code = String(answer.body['code']);
    if (code === 'REGISTER_AGAIN') await register();
    if (code.startsWith('TASK_') || code === 'STALE_GENERATION' || code === 'REGISTER_AGAIN') return undefined;
    await delay(RETRY_MS);
  }
}

async function execute({ callId }: Task): Promise<void> {
  note('executed', callId);
  held.set(callId, undefined);
  await delay(shortestMs + Math.random() * (longestMs - shortestMs));
}

async function overRest(): Promise<never> {
  const finish = async (task: Task): Promise<void> => {
    await execute(task);
    if (await ask(`/tasks/${task.callId}/result`, resultOf(task.callId))) note('accepted', task.callId);
  };
  for (;;) {
    const taken = await ask('/tasks/take', { max: SLOTS, waitMs: 5_000, holding: [] });
    await Promise.all(((taken?.['tasks'] ?? []) as Task[]).map(finish));
  }
}

/** Ends when the connection is closed. */
async function overSocket(): Promise<void> {
  const { generation, leaseToken } = registration;
  const socket = new WebSocket(
    `${anyUrl().replace('http', 'ws')}/v1/agents/ws?agentId=${agentId}&generation=${generation}`,
    { headers: { authorization: `Bearer ${leaseToken}` } },
  );
  const send = (event: string, data: Body): void => {
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify({ event, data }));
  };
  const end = (callId: string): void => {
    if (held.delete(callId)) send('work', { slots: 1 });
  };
  const onFrame = async (event: string, data: Body): Promise<void> => {
    const callId = String(data['callId'] ?? '');
    if (event === 'welcome') {
      for (const [id, result] of held) if (result) send('result', { callId: id, ...result });
      send('work', { slots: Math.max(0, SLOTS - held.size), holding: [...held.keys()] });
    } else if (event === 'reported') {
      note('accepted', callId);
      end(callId);
    } else if (event === 'error' && callId.length > 0 && String(data['code']).startsWith('TASK_')) end(callId);
    else if (event === 'error' && data['code'] === 'REGISTER_AGAIN') await register();
    else if (event === 'control' && data['action'] === 'cancel') end(callId);
    else if (event === 'task' && !held.has(callId)) {
      await execute({ callId });
      if (!held.has(callId)) return; // cancelled, or another registration
      const result = resultOf(callId);
      held.set(callId, result);
      current.send('result', { callId, ...result });
    }
  };
  current = { send };
  await new Promise<void>((resolve) => {
    socket.on('message', (text: Buffer) => {
      const { event, data } = JSON.parse(text.toString()) as { event: string; data: Body };
      void onFrame(event, data);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
  });
  await delay(RETRY_MS);
}

/** The connection on which results are sent. A result is sent again on the next one if there was no answer. */
let current = { send: (_event: string, _data: Body): void => undefined };

async function beat(): Promise<never> {
  for (;;) {
    await delay(BEAT_EVERY_MS);
    await ask('/heartbeat');
  }
}

process.on('disconnect', () => process.exit());
await new Promise<void>((resolve) =>
  process.on('message', (message: string[]) => {
    urls = message;
    resolve();
  }),
);
await register();
process.send?.('ready');
void beat();
if (transport === 'rest') await overRest();
for (;;) {
  if (urls.length > 0) await overSocket();
  else await delay(RETRY_MS); // all replicas are down
}
