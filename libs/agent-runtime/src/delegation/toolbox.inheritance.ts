import type { Agent } from '#rollcall/providers';
import type { RunContext } from '../loop/run.context.js';
import { approverOf, demanding } from '../tools/approver.js';
import { demandOf, isAllowed, type ToolFilter } from '../tools/tool.filter.js';
import type { Tool, ToolBox } from '../tools/tool.js';
import type { DelegationServices, InheritanceMode } from './delegation.services.js';
import { DELEGATION_TOOLS } from './delegation.tools.js';
import type { AgentFactories } from './targets/agent.factories.js';

/** What a delegated agent gets from its parent. */
export interface Inheritance {
  readonly mode: InheritanceMode;
  readonly toolboxes: readonly ToolBox[];
  /** The filter of the parent. A tool that the parent may not use is not inherited. */
  readonly filter?: ToolFilter;
  /** The registry of the parent, for a child without a registry of its own. */
  readonly registry: AgentFactories;
  readonly services: DelegationServices;
}

/** An agent that can use the tools of its parent. */
export interface InheritingAgent extends Agent {
  inherit(inherited: Inheritance): void;
}

export function canInherit(agent: Agent): agent is InheritingAgent {
  return typeof (agent as Partial<InheritingAgent>).inherit === 'function';
}

/** From the most to the fewest tools. */
const BY_STRICTNESS: readonly InheritanceMode[] = ['union', 'off', 'intersection'];

/** The mode that gives fewer tools, so that a definition cannot extend what the operator allows. */
export function stricterMode(one: InheritanceMode, other: InheritanceMode = 'union'): InheritanceMode {
  return BY_STRICTNESS.indexOf(one) > BY_STRICTNESS.indexOf(other) ? one : other;
}

/**
 * The own and the inherited toolboxes of an agent. Its own toolboxes come first, so they win if names clash. With `isGranted`, the agent has
 * the inherited tools in addition to those that its own filter allows.
 */
export function withInherited(
  own: readonly ToolBox[],
  { mode, toolboxes, filter }: Inheritance,
  isGranted = false,
): readonly ToolBox[] {
  if (mode === 'off') return own;
  const granted = toolboxes.map((box) => ({ ...granting(box, filter), isGranted }));
  return mode === 'union' ? [...own, ...granted] : own.map((box) => intersecting(box, granted));
}

/** The tools of the box that the parent may use. Delegation tools depend on the position in the tree, so they are never inherited. */
function granting(box: ToolBox, filter: ToolFilter = {}): ToolBox {
  const isInherited = ({ name }: Tool): boolean => !DELEGATION_TOOLS.has(name) && isAllowed(name, filter);
  return derived(box.name, [box], ([tools = []]) =>
    tools.filter(isInherited).map((tool) => demanding(tool, demandOf(tool.name, filter))),
  );
}

function intersecting(own: ToolBox, granted: readonly ToolBox[]): ToolBox {
  return derived(own.name, [own, ...granted], ([tools = [], ...lists]) => {
    const found = new Map(
      lists
        .flat()
        .toReversed()
        .map((tool) => [tool.name, tool]),
    );
    return tools.flatMap((tool) => {
      const other = found.get(tool.name);
      return other ? [demanding(tool, approverOf(other))] : []; // calls of the child need what calls of the parent need
    });
  });
}

type Lists = readonly (readonly Tool[])[];

/** A toolbox that is derived from others. It returns the same array as long as they do, because `ToolSet` uses it as a cache key. */
function derived(name: string, sources: readonly ToolBox[], combine: (lists: Lists) => readonly Tool[]): ToolBox {
  let last: { lists: Lists; tools: readonly Tool[] } | undefined;
  const tools = (context: RunContext): readonly Tool[] => {
    const lists = sources.map((source) => source.tools(context));
    if (!last?.lists.every((list, index) => list === lists[index])) last = { lists, tools: combine(lists) };
    return last?.tools ?? [];
  };
  return { name, tools };
}
