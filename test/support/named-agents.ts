import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { VendorRegistry } from '#rollcall/providers';
import { callTool as callModelTool, say, ScriptedModel } from '#rollcall/providers/testing';
import type { TestApi } from './api.js';
import { call } from './call.js';
import { callTool, mcpClient } from './mcp-client.js';
import { httpJsonEdge, type Outcome, REGISTERED, type Refusal } from './run-edges.js';

/** What did the work: the definition, or the external agent that answers with this word. The others are refusals. */
export type Meaning = 'definition' | 'unknown' | 'unavailable' | (string & {});

/** Sends work to the agent of a name, and returns what did it. */
export interface NameEdge {
  readonly title: string;
  /** The edge accepts only names of definitions. */
  readonly onlyDefinitions?: true;
  use(name: string): Promise<Meaning>;
}

const INPUT = 'Hello.';
const WAIT_MS = 20_000;
const UNKNOWN: ReadonlySet<unknown> = new Set(['RUN_TARGET_UNKNOWN', 'DEFINITION_NOT_FOUND', 'AGENT_NOT_FOUND']);

/** An external agent that answers each message with one word. */
export class OneWordAgent {
  private constructor(
    private readonly server: Server,
    readonly endpoint: string,
  ) {}

  static async start(word: string): Promise<OneWordAgent> {
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        const body = JSON.stringify({
          type: 'result',
          text: word,
          usage: { inputTokens: 1, outputTokens: 1 },
          outcome: 'completed',
        });
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new OneWordAgent(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`);
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** The definitions that delegate to the agent, or to the capability, that their input names. */
export async function defineDelegators(api: TestApi, replicas: readonly TestApi[]): Promise<void> {
  for (const { app } of replicas)
    app.nest
      .get(VendorRegistry, { strict: false })
      .register({ name: 'by-capability', needsKey: false, open: delegator });
  const boss = { description: 'Delegates by name.' };
  const finder = { description: 'Delegates by capability.', model: { vendor: 'by-capability', model: 'any' } };
  for (const [name, content] of Object.entries({ boss, finder })) {
    const { status } = await api.call('POST', '/v1/definitions', { body: { name, content } });
    if (status !== 201) throw new Error(`the definition ${name} was rejected`);
  }
}

function delegator(): ScriptedModel {
  return new ScriptedModel(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === 'tool') return say(last.content.map(({ output }) => output).join('\n'));
    const capability =
      last?.role === 'user' ? last.content.map((part) => (part.type === 'text' ? part.text : '')).join('') : '';
    return callModelTool('delegate_to_agent', { capabilities: [capability], task: INPUT }, 'find');
  });
}

/** Every way to name the agent that shall do some work. */
export function nameEdges({ url }: TestApi, key: string): NameEdge[] {
  const rest = async (target: object, input = INPUT): Promise<Meaning> => {
    const { body } = await call(url, 'POST', `/v1/runs?waitMs=${WAIT_MS}`, { key, body: { ...target, input } });
    return meaningOf(body);
  };
  const mcp = async (path: string, input: (tool: string) => [string, Record<string, unknown>]): Promise<Meaning> => {
    const client = await mcpClient(url + path, key).catch((error: unknown) => error);
    if (client instanceof Error || !('listTools' in (client as object)))
      return meaningOf(JSON.parse(JSON.stringify(client, ['code', 'data', 'message', 'status'])) as object);
    const connected = client as Awaited<ReturnType<typeof mcpClient>>;
    try {
      const { tools } = await connected.listTools();
      const [tool, given] = input(tools[0]?.name ?? '');
      const { facts, text } = await callTool(connected, tool, given);
      return meaningOf({ ...facts, text });
    } catch (error) {
      return meaningOf({ text: String(error), ...(error as { data?: object }).data });
    } finally {
      await connected.close();
    }
  };
  return [
    { title: 'POST /v1/runs {agent}', use: async (agent) => await rest({ agent }) },
    {
      title: 'POST /v1/runs {definition}',
      onlyDefinitions: true,
      use: async (definition) => await rest({ definition }),
    },
    {
      title: 'A2A, in the path',
      use: async (name) => meaningOf(await httpJsonEdge(url, key).run(REGISTERED + name, { text: INPUT })),
    },
    {
      title: 'A2A, as the tenant',
      use: async (tenant) => {
        const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: INPUT }] };
        const headers = { 'a2a-version': '1.0' };
        const sent = await call(url, 'POST', '/a2a/message:send', { key, headers, body: { tenant, message } });
        return meaningOf(sent.body);
      },
    },
    { title: 'MCP run_agent', use: async (agent) => await mcp('/mcp', () => ['run_agent', { agent, input: INPUT }]) },
    {
      title: 'MCP, in the path',
      use: async (name) => await mcp(`/mcp/agents/${name}`, (tool) => [tool, { input: INPUT }]),
    },
    { title: 'a delegation', use: async (name) => await rest({ definition: 'boss' }, `Ask ${name}: ${INPUT}`) },
  ];
}

/** Sends work to the agent with a capability, and returns what did it. */
export function capabilityEdges({ url }: TestApi, key: string): NameEdge[] {
  const rest = async (target: object, input = INPUT): Promise<Meaning> => {
    const { body } = await call(url, 'POST', `/v1/runs?waitMs=${WAIT_MS}`, { key, body: { ...target, input } });
    return meaningOf(body);
  };
  return [
    { title: 'POST /v1/runs {capabilities}', use: async (name) => await rest({ capabilities: [`can.${name}`] }) },
    { title: 'a delegation by capability', use: async (name) => await rest({ definition: 'finder' }, `can.${name}`) },
    {
      title: 'a contract',
      use: async (name) => {
        const body = { capabilities: [`can.${name}`], task: INPUT, run: true };
        const announced = await call(url, 'POST', '/v1/contracts', { key, body });
        return announced.body['invited'] === 0 ? 'unavailable' : 'invited';
      },
    },
  ];
}

/** Recognises the answer of a definition, the word of an external agent, and the reasons of a refusal. */
function meaningOf(answer: object | Outcome | Refusal): Meaning {
  const text = JSON.stringify(answer);
  if (/RUN_TARGET_UNAVAILABLE|cannot receive work now|can receive work now/.test(text)) return 'unavailable';
  const code = /"(?:code|reason)":"([A-Z_]+)"/.exec(text)?.[1];
  if (UNKNOWN.has(code) || /There is no agent|AGENT_NOT_FOUND/.test(text)) return 'unknown';
  const word = /WORD-[a-z]+/.exec(text)?.[0];
  if (word) return word;
  if (text.includes(`You said: ${INPUT}`)) return 'definition';
  return text;
}
