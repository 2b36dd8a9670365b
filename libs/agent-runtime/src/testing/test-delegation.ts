import type { Agent } from '#rollcall/providers';
import { ProcessTreeCounter } from '../delegation/delegation.limits.js';
import type { DelegationServices } from '../delegation/delegation.services.js';
import { delegationToolBox } from '../delegation/delegation.toolbox.js';
import { AgentFactoryRegistry } from '../delegation/targets/agent.factories.js';
import type { RunContext } from '../loop/run.context.js';
import type { ToolOutput } from '../tools/tool.executor.js';
import type { ToolBox } from '../tools/tool.js';
import { FakeAgent } from './fake.agent.js';
import { aCall, aRun, TestCalls } from './tool-calls.js';

type Make = (name: string) => Agent;

/** The delegation tools, with agents that a test defines. */
export class TestDelegation {
  readonly registry = new AgentFactoryRegistry();
  readonly spawned: Agent[] = [];
  readonly counter = new ProcessTreeCounter();
  readonly box: ToolBox;
  toolboxes: ToolBox[] = [];

  constructor(agents: Record<string, Make> = {}, services: DelegationServices = {}) {
    for (const [name, make] of Object.entries(agents)) this.register(name, make);
    this.box = delegationToolBox(this.registry, this, { counter: this.counter, ...services });
  }

  register(name: string, make: Make = (given) => new FakeAgent(given)): void {
    this.registry.register(name, `The agent ${name}.`, () => {
      const agent = make(name);
      this.spawned.push(agent);
      return agent;
    });
  }

  /** The names of the tools that this run has. */
  toolsOf(run: Partial<RunContext> = {}): string[] {
    return this.box.tools(aRun(run)).map(({ name }) => name);
  }

  /** The tool calls of one run. The calls also reach tools that are withheld from the run. */
  callsOf(run: Partial<RunContext> = {}): TestCalls {
    const tools = this.box.tools(aRun());
    return new TestCalls({ name: 'delegation', tools: () => tools }, { maxOutputChars: 50_000 }, aRun(run));
  }

  async call(name: string, input: unknown, run: Partial<RunContext> = {}): Promise<ToolOutput> {
    return await this.callsOf(run).execute(aCall(name, input));
  }

  /** The calls that the spawned agents received. */
  get received(): FakeAgent['calls'] {
    return this.spawned.flatMap((agent) => (agent instanceof FakeAgent ? agent.calls : []));
  }
}
