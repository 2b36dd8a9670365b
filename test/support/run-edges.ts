import { Part } from '@a2a-js/sdk';
import { type ContentPart, fromA2aParts } from '#rollcall/providers';
import { type Answer, call } from './call.js';

/** A message to an agent, and the options of its run. */
export interface Work {
  readonly text: string;
  readonly data?: unknown;
  readonly budget?: object;
  /** Selects the agent if no agent is named. */
  readonly capabilities?: readonly string[];
}

/** A run as one edge shows it. */
export interface Outcome {
  readonly id: string;
  readonly state: unknown;
  /** The answer, the question, or the reason of a refusal. */
  readonly says: readonly ContentPart[];
  readonly usage: unknown;
  readonly reason?: unknown;
  readonly error?: unknown;
}

/** The response to a request that is rejected. */
export interface Refusal {
  readonly status: number;
  readonly code: unknown;
}

/** One protocol to start, answer and cancel runs. `agent` is the name of a definition, or `agent:` and the id of a registered agent. */
export interface RunEdge {
  readonly name: string;
  /** Returns when the run has finished or waits for its caller. */
  run(agent: string, work: Work): Promise<Outcome | Refusal>;
  /** Returns the id of the run at once. */
  begin(agent: string, work: Work): Promise<string>;
  answer(agent: string, id: string, text: string): Promise<Outcome>;
  cancel(agent: string, id: string): Promise<Outcome | Refusal>;
}

type Body = Record<string, unknown>;

interface RunBody extends Body {
  id: string;
  state: string;
  result: { parts: ContentPart[]; reason?: unknown; error?: unknown } | null;
  usage: unknown;
}

const isRefused = ({ status }: Answer): boolean => status >= 400;

/** The routes of `/v1/runs`. */
export function restEdge(url: string, key: string): RunEdge {
  const send = async (method: string, path: string, body?: object): Promise<Answer> =>
    await call(url, method, `/v1/runs${path}`, { key, ...(body && { body }) });
  const settled = async (id: string): Promise<Outcome> =>
    outcomeOfRun((await send('GET', `/${id}?waitMs=50000`)).body as RunBody);
  const start = async (agent: string, { text, ...rest }: Work): Promise<Answer> =>
    await send('POST', '', { ...targetOf(agent), input: text, ...rest });
  return {
    name: 'REST',
    run: async (agent, work) => {
      const started = await start(agent, work);
      return isRefused(started) ? refusalOf(started) : await settled(String(started.body['id']));
    },
    begin: async (agent, work) => String((await start(agent, work)).body['id']),
    answer: async (_agent, id, text) => {
      await send('POST', `/${id}/messages`, { input: text });
      return await settled(id);
    },
    cancel: async (_agent, id) => {
      const cancelled = await send('POST', `/${id}/cancel`, {});
      return isRefused(cancelled) ? refusalOf(cancelled) : outcomeOfRun(cancelled.body as RunBody);
    },
  };
}

/** The prefix of the id of a registered agent. */
export const REGISTERED = 'agent:';

function targetOf(agent: string): object {
  if (agent === '') return {};
  return agent.startsWith(REGISTERED) ? { agent: agent.slice(REGISTERED.length) } : { definition: agent };
}

/** Returns the path of the agent, or of Rollcall itself if no agent is named. */
function pathOf(agent: string): string {
  return agent === '' ? '/a2a' : `/a2a/agents/${agent.replace(REGISTERED, '')}`;
}

function outcomeOfRun({ id, state, result, usage }: RunBody): Outcome {
  const { parts = [], reason, error } = result ?? {};
  return {
    id,
    state,
    says: parts,
    usage,
    ...(reason !== undefined && { reason }),
    ...(error !== undefined && { error }),
  };
}

function refusalOf({ status, body }: Answer): Refusal {
  return { status, code: body['code'] };
}

interface TaskBody extends Body {
  id: string;
  status: { message?: { parts: unknown[] } };
  artifacts?: { parts: unknown[] }[];
  metadata: Record<string, { state?: string; code?: string; usage?: unknown; reason?: unknown; error?: unknown }>;
}

interface A2aBody extends Body {
  error?: { message: string; data?: { reason: string }[]; details?: { reason: string }[] };
}

type Operation = (agent: string, method: 'SendMessage' | 'CancelTask', params: Body) => Promise<Answer<A2aBody>>;

/** A2A over JSON-RPC. */
export function rpcEdge(url: string, key: string): RunEdge {
  return a2aEdge('JSONRPC', async (agent, method, params) => {
    const body = { jsonrpc: '2.0', id: 1, method, params };
    const answer = await call<A2aBody>(url, 'POST', pathOf(agent), { key, headers: VERSION, body });
    return { ...answer, body: (answer.body['result'] ?? answer.body) as A2aBody };
  });
}

/** A2A over HTTP+JSON. */
export function httpJsonEdge(url: string, key: string): RunEdge {
  return a2aEdge('HTTP+JSON', async (agent, method, { id, ...params }) => {
    const path = method === 'SendMessage' ? 'message:send' : `tasks/${String(id)}:cancel`;
    return await call<A2aBody>(url, 'POST', `${pathOf(agent)}/${path}`, { key, headers: VERSION, body: params });
  });
}

const VERSION = { 'a2a-version': '1.0' };
const FACTS = 'urn:rollcall:a2a:v1';

function a2aEdge(name: string, operate: Operation): RunEdge {
  const send = async (agent: string, message: Body, more: Body = {}): Promise<Outcome | Refusal> => {
    const about = { messageId: crypto.randomUUID(), role: 'ROLE_USER', ...message };
    return outcomeOfTask(await operate(agent, 'SendMessage', { message: about, ...more }));
  };
  const start = async (agent: string, { text, data, ...metadata }: Work, more: Body = {}): Promise<Outcome | Refusal> =>
    await send(agent, { parts: [{ text }, ...(data === undefined ? [] : [{ data }])] }, { metadata, ...more });
  return {
    name,
    run: async (agent, work) => await start(agent, work),
    begin: async (agent, work) =>
      ((await start(agent, work, { configuration: { returnImmediately: true } })) as Outcome).id,
    answer: async (agent, id, text) => (await send(agent, { taskId: id, parts: [{ text }] })) as Outcome,
    cancel: async (agent, id) => outcomeOfTask(await operate(agent, 'CancelTask', { id })),
  };
}

function outcomeOfTask({ status, body }: Answer<A2aBody>): Outcome | Refusal {
  const { error } = body;
  if (error) return { status, code: (error.data ?? error.details)?.[0]?.reason };
  const { id, status: about, artifacts = [], metadata } = (body['task'] ?? body) as TaskBody;
  const { state, code, usage, reason, error: failure } = metadata[FACTS] ?? {};
  if (code !== undefined) return { status: 409, code };
  const isSaid = state === 'waiting' || state === 'refused';
  const said = isSaid ? (about.message?.parts ?? []) : artifacts.flatMap(({ parts }) => parts);
  const says = fromA2aParts(said.map((part) => Part.fromJSON(part)));
  return {
    id,
    state,
    says,
    usage,
    ...(reason !== undefined && { reason }),
    ...(failure !== undefined && { error: failure }),
  };
}
