import { LRUCache } from 'lru-cache';
import {
  addUsage,
  type AgentEvent,
  type AgentMessage,
  type AgentUsage,
  type CallContext,
  choiceOf,
  costOf,
  type HandleOptions,
  type ModelMessage,
  type ModelProvider,
  type ModelUsage,
  type Prices,
  TrackedAgent,
} from '#rollcall/providers';
import type { DelegationServices } from '../delegation/delegation.services.js';
import { delegationToolBox } from '../delegation/delegation.toolbox.js';
import type { AgentFactories } from '../delegation/targets/agent.factories.js';
import {
  type Inheritance,
  type InheritingAgent,
  stricterMode,
  withInherited,
} from '../delegation/toolbox.inheritance.js';
import { ASK_TOOLBOX } from '../loop/caller.question.js';
import type { LoopStep } from '../loop/loop.step.js';
import { outputFormat } from '../loop/output.format.js';
import { type LoopParts, reactLoop } from '../loop/react.loop.js';
import type { RunContext } from '../loop/run.context.js';
import { ABANDONED } from '../loop/run.outcome.js';
import { applyStep, initialState, nextRun, type RunState } from '../loop/run.state.js';
import { attemptModel, composeModel, composeRun } from '../middleware/compose.js';
import type { LoopEvents, RunCall, RunNext } from '../middleware/middleware.js';
import { skillToolBox } from '../skills/skill.toolbox.js';
import { systemPrompt } from '../skills/system.prompt.js';
import type { SpendingLimit } from '../spending/spending.js';
import { MapRunMemory } from '../tools/run.memory.js';
import { ToolExecutor } from '../tools/tool.executor.js';
import type { ToolFilter } from '../tools/tool.filter.js';
import type { ToolBox } from '../tools/tool.js';
import { ToolSet } from '../tools/tool.set.js';
import { DEFAULT_TOOLS_OPTIONS } from '../tools/tools.options.js';
import { toAgentEvent, toAgentResult, toUserMessage } from './agent.mapper.js';
import { checkedOptions, type CheckedOptions, type ReactAgentOptions } from './react.options.js';

const MAX_CONVERSATIONS = 100;

/**
 * An agent that Rollcall runs itself: a model, instructions and tools (S2.1). `run` executes one run and yields its
 * steps. `handle` does the same behind the interface that all agents have. Create one instance per agent and reuse it for all calls.
 */
export class ReactAgent extends TrackedAgent implements InheritingAgent {
  readonly agentType = 'in-process';
  readonly description: string;
  private readonly options: CheckedOptions;
  private readonly execute: RunNext;
  private own: readonly ToolBox[] = [];
  private registry?: AgentFactories;
  private services?: DelegationServices;
  /** All runs use the same array, because `ToolSet` uses it as a cache key. */
  private boxes: readonly ToolBox[];
  /** The most recent conversations, so that a caller can continue one. The conversation of a stored run is in its steps. */
  private readonly conversations = new LRUCache<string, RunState>({ max: MAX_CONVERSATIONS });

  constructor(private readonly given: ReactAgentOptions) {
    super(given.name);
    this.description = given.description;
    this.options = checkedOptions(given);
    this.services = given.delegation;
    this.boxes = this.orderedBoxes();
    this.execute = composeRun(given.runMiddleware ?? [], reactLoop(this.loopParts()));
  }

  /** Adds toolboxes. If several have a tool with the same name, the first one is used (S2.2). */
  addToolBoxes(...boxes: readonly ToolBox[]): void {
    this.own = [...this.own, ...boxes];
    this.boxes = this.orderedBoxes();
  }

  /** Sets the agents that this agent may delegate to (S2.4). */
  setRegistry(registry: AgentFactories): void {
    this.registry = registry;
    this.boxes = this.orderedBoxes();
  }

  /** Adds what the parent gives to a delegated agent (S2.6). This agent's own tools, registry and services come first. */
  inherit(inherited: Inheritance): void {
    const mode = stricterMode(inherited.mode, this.options.inheritTools);
    this.own = withInherited(this.own, { ...inherited, mode }, this.options.inheritTools === 'union');
    this.services ??= inherited.services;
    this.setRegistry(this.registry ?? inherited.registry);
  }

  get toolFilter(): ToolFilter | undefined {
    return this.options.toolFilter;
  }

  get subagents(): readonly string[] | undefined {
    return this.options.subagents;
  }

  /** The model of this agent. A delegated agent can inherit it (S4.7). */
  get model(): ModelProvider {
    return this.given.model;
  }

  /** The toolboxes that were added, in order. A delegated agent can inherit them (S2.6). */
  get toolboxes(): readonly ToolBox[] {
    return this.own;
  }

  /** Creates a counter that adds up the usage of a run. */
  newUsage(): UsageSum {
    return new UsageSum(choiceOf(this.given.model)?.prices);
  }

  run(call: RunCall): LoopEvents {
    return this.execute(call);
  }

  protected async *respond(
    message: AgentMessage,
    signal: AbortSignal,
    { conversationId, context: from, budget }: HandleOptions,
  ): AsyncGenerator<AgentEvent> {
    const context = this.contextOf(from);
    const key = `${context.namespace}/${conversationId ?? context.runId}`;
    const usage = this.newUsage();
    const state = this.begin(key, toUserMessage(message, this.options.inputMedia));
    const steps: LoopStep[] | undefined = conversationId !== undefined || this.options.mayAsk ? [] : undefined;
    const events = this.run({ context, state, signal, streams: true, ...(budget && { limit: limitOf(budget) }) });
    try {
      for (;;) {
        const next = await events.next();
        if (next.done) {
          const continues = conversationId !== undefined || next.value.type === 'input-required';
          if (continues && steps) this.conversations.set(key, steps.reduce(applyStep, state));
          const id = conversationId ?? (continues ? context.runId : undefined);
          yield { type: 'finished', result: toAgentResult(next.value, usage.total, id) };
          return;
        }
        if (next.value.type === 'step') {
          usage.add(next.value.step);
          steps?.push(next.value.step);
        }
        const event = toAgentEvent(next.value);
        if (event) yield event;
      }
    } finally {
      await events.return(ABANDONED);
    }
  }

  /** The state of a new run, with the conversation so far. */
  private begin(key: string, message: ModelMessage): RunState {
    const before = this.conversations.get(key);
    if (!before) return initialState([message]);
    return applyStep(nextRun(before), { type: 'message-received', messages: [message] });
  }

  /** The context of a run, with the limits of this agent if it is the root of its tree. */
  contextOf(from: CallContext | undefined): RunContext {
    const { treeLimits: limits, namespace } = this.options;
    if (from) return { limits, ...from, agentName: this.name };
    const runId = crypto.randomUUID();
    return { namespace, rootRunId: runId, runId, agentName: this.name, ancestry: [], depth: 0, deadline: null, limits };
  }

  /** The tools of a run. */
  toolsOf(context: RunContext): ToolSet {
    return ToolSet.of(this.boxes, context, this.options.toolFilter);
  }

  private orderedBoxes(): readonly ToolBox[] {
    const { mayAsk, skills } = this.options;
    const delegation = this.registry && delegationToolBox(this.registry, this, this.services);
    const boxes = [mayAsk ? ASK_TOOLBOX : undefined, ...this.own, skillToolBox(skills), delegation];
    return boxes.filter((box) => box !== undefined);
  }

  private loopParts(): LoopParts {
    const { name, description, instructions, model, modelMiddleware = [] } = this.given;
    const { toolFilter: _, outputSchema, skills, ...options } = this.options;
    const { contextWindow = choiceOf(model)?.contextWindow } = options;
    return {
      model,
      callModel: composeModel(modelMiddleware, attemptModel),
      executor: this.given.executor ?? new ToolExecutor(DEFAULT_TOOLS_OPTIONS.limits),
      systemPrompt: systemPrompt({ name, description, instructions, skills }),
      options: {
        ...options,
        contextWindow,
        ...(outputSchema && { output: outputFormat(outputSchema, this.options.namespace) }),
      },
      tools: (context) => this.toolsOf(context),
      memory: (stored) => new MapRunMemory(stored),
      now: this.options.now,
    };
  }
}

function limitOf({ tokens, microUsd }: NonNullable<HandleOptions['budget']>): SpendingLimit {
  return { tokens: tokens ?? null, microUsd: microUsd ?? null };
}

/** The usage of all model replies of a run. A count that is unknown for one reply is unknown for the run. */
class UsageSum {
  private usage?: ModelUsage;
  private costMicroUsd: number | undefined = 0;

  constructor(private readonly prices?: Prices) {}

  add(step: LoopStep): void {
    if (step.type === 'model-replied') this.addUsage(step.reply.usage);
    else if (step.type === 'context-summarised') this.addUsage(step.usage);
  }

  get total(): AgentUsage {
    const cost = this.usage && this.costMicroUsd;
    return { ...this.usage, ...(this.prices && cost !== undefined && { costMicroUsd: cost }) };
  }

  private addUsage(usage: ModelUsage): void {
    this.usage = this.usage ? addUsage(this.usage, usage) : usage;
    const cost = this.prices && costOf(usage, this.prices);
    this.costMicroUsd = this.costMicroUsd === undefined || cost === undefined ? undefined : this.costMicroUsd + cost;
  }
}
