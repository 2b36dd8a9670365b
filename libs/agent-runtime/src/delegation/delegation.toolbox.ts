import type { RunContext } from '../loop/run.context.js';
import type { ToolFilter } from '../tools/tool.filter.js';
import type { Tool, ToolBox } from '../tools/tool.js';
import { ProcessTreeCounter } from './delegation.limits.js';
import type { DelegationServices } from './delegation.services.js';
import { delegationTools } from './delegation.tools.js';
import { Delegator } from './delegator.js';
import { type AgentFactories, FactoryTargets } from './targets/agent.factories.js';
import { CombinedTargets, type DelegatingParent, type DelegationTarget } from './targets/delegation.targets.js';
import { canInherit } from './toolbox.inheritance.js';

/** The agent whose tools are created. */
interface DelegatingAgent extends DelegatingParent {
  readonly toolboxes: readonly ToolBox[];
  readonly toolFilter?: ToolFilter;
  /** The only agents that the agent may delegate to. Absent: all. */
  readonly subagents?: readonly string[];
}

const DEFAULT_TIMEOUT_MS = 600_000;
const DEFAULT_OUTPUT_CHARS = 40_000;
/** The counter of agents without services. It is shared, because the agents of one tree may be created in different places. */
const COUNTER = new ProcessTreeCounter();
const NO_TOOLS: readonly Tool[] = Object.freeze([]);

/** The toolbox for delegation. It is empty for an agent with an empty list of subagents, and for a run at a limit of its tree. */
export function delegationToolBox(
  registry: AgentFactories,
  agent: DelegatingAgent,
  services: DelegationServices = {},
): ToolBox {
  const { targets, counter = COUNTER, maxOutputChars = DEFAULT_OUTPUT_CHARS, inheritance: mode = 'union' } = services;
  const { childTimeoutMs = DEFAULT_TIMEOUT_MS, now = Date.now, payment, recorder, log } = services;
  const prepare = ({ agent: child }: DelegationTarget): void => {
    const { toolboxes, toolFilter: filter } = agent;
    if (canInherit(child)) child.inherit({ mode, toolboxes, registry, services, ...(filter && { filter }) });
  };
  const factories = new FactoryTargets(registry);
  const sources = targets ? [factories, targets] : [factories];
  const delegator = new Delegator({
    targets: new CombinedTargets(sources, agent.subagents && new Set(agent.subagents)),
    parent: agent,
    counter,
    prepare,
    childTimeoutMs,
    now,
    ...(payment && { payment }),
    ...(recorder && { recorder }),
    ...(log && { log }),
  });
  const tools = Object.freeze(delegationTools(delegator, maxOutputChars));
  const isAlone = agent.subagents?.length === 0;
  return { name: 'delegation', tools: (run: RunContext) => (isAlone || delegator.isBlocked(run) ? NO_TOOLS : tools) };
}
