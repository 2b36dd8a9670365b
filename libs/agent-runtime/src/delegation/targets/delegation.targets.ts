import type { Agent, AgentUsage, ModelProvider } from '#rollcall/providers';
import type { CostModel } from '#rollcall/registry';
import type { RunContext } from '../../loop/run.context.js';

/** The agent that a model asks for: one by name, or the best one with all these capabilities. */
export type WantedAgent =
  /** `revision` selects a revision of the definition; the default is the current one. Agents without a definition ignore it. */
  | { readonly name: string; readonly revision?: number }
  /** `prefer` is the name of a strategy of the ranking. If `among` is present, only these agents are considered. */
  | {
      readonly capabilities: readonly string[];
      readonly prefer?: string;
      readonly among?: ReadonlySet<string>;
      /** Only for `prefer: "contract-net"`: what the agents bid for, and how long the auction may take. */
      readonly task?: string;
      readonly waitMs?: number;
      /** Ends the auction early. */
      readonly signal?: AbortSignal;
    };

/** How a delegated call ended. */
export interface DelegationResult {
  readonly ok: boolean;
  readonly usage?: AgentUsage;
}

/** What a target can use of the agent that delegates. */
export interface DelegatingParent {
  readonly model?: ModelProvider;
}

export interface ListedTarget {
  /** Identifies the agent within its namespace: the name of its factory or definition, or its agentId. */
  readonly name: string;
  readonly description: string;
}

/** An agent that is ready for one call. */
export interface DelegationTarget {
  readonly name: string;
  readonly agent: Agent;
  /** The definition that the agent is built from; absent for other agents. */
  readonly definition?: { readonly name: string; readonly revision: number };
  /** The agent in the registry that is also charged for the call; absent if the agent is not registered. */
  readonly registered?: {
    readonly agentId: string;
    readonly costModel: CostModel;
    readonly typicalTokens: number | null;
  };
  /** Whether an interrupted call may be sent again, as the agent or its definition declares. */
  readonly isIdempotent?: boolean;
  /** Set if the agent takes its tasks: a call is then stored as a task. `agentId` is its qualified id. */
  readonly pull?: { readonly agentId: string };
  /** The price that the agent agreed to in an auction. It replaces the prices of its record. */
  readonly priceMicroUsd?: number;
  /** Called with the result of the call, before `close`. */
  ended?(result: DelegationResult): Promise<void>;
  /** Releases the agent after the call. */
  close(): Promise<void>;
}

/** The agents that a run can delegate to. */
export interface DelegationTargets {
  /** The agents that can receive work now. If `among` is present, only agents with these names are listed. */
  list(context: RunContext, among?: ReadonlySet<string>): Promise<readonly ListedTarget[]>;
  /**
   * Returns undefined if this source knows no such agent. Throws DELEGATION_TARGET_UNKNOWN if no suitable agent can receive work now.
   * A search by capabilities skips the ancestors of the run.
   */
  open(wanted: WantedAgent, context: RunContext, parent?: DelegatingParent): Promise<DelegationTarget | undefined>;
}

/** Whether a delegation from this run to this agent would be a cycle. */
export function isOnPath(name: string, { agentName, ancestry }: RunContext): boolean {
  return name === agentName || ancestry.includes(name);
}

/**
 * Several sources of targets as one. If two sources have an agent with the same name, the agent of the first source is used. If `only` is
 * present, agents with other names do not exist for the run: they are neither listed nor found by name or capability.
 */
export class CombinedTargets implements DelegationTargets {
  constructor(
    private readonly sources: readonly DelegationTargets[],
    private readonly only?: ReadonlySet<string>,
  ) {}

  async list(context: RunContext, among?: ReadonlySet<string>): Promise<readonly ListedTarget[]> {
    const names = this.only ?? among;
    const lists = await Promise.all(this.sources.map(async (source) => await source.list(context, names)));
    const byName = new Map<string, ListedTarget>();
    for (const target of lists.flat()) if (!byName.has(target.name)) byName.set(target.name, target);
    return [...byName.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  async open(
    wanted: WantedAgent,
    context: RunContext,
    parent?: DelegatingParent,
  ): Promise<DelegationTarget | undefined> {
    const { only } = this;
    if (only && 'name' in wanted && !only.has(wanted.name)) return undefined;
    const restricted = only && !('name' in wanted) ? { ...wanted, among: only } : wanted;
    for (const source of this.sources) {
      const target = await source.open(restricted, context, parent);
      if (target) return target;
    }
    return undefined;
  }
}
