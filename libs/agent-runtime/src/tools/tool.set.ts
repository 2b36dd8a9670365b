import type { ToolDeclaration } from '#rollcall/providers';
import type { RunContext } from '../loop/run.context.js';
import { demanding } from './approver.js';
import { demandOf, isAllowed, type ToolFilter } from './tool.filter.js';
import { checkToolName, type Tool, type ToolBox } from './tool.js';

interface FoundTool {
  readonly tool: Tool;
  /** The name of the toolbox. */
  readonly origin: string;
}

interface CachedSet {
  readonly lists: readonly (readonly Tool[])[];
  readonly filter: ToolFilter | undefined;
  readonly set: ToolSet;
}

const ALL: ToolFilter = {};
/** The last set of each list of toolboxes. Most toolboxes return the same array in every context, so most runs share one set. */
const cache = new WeakMap<readonly ToolBox[], CachedSet>();

/**
 * The tools of one run. If several toolboxes have a tool with the same name, the first one is used. A tool that the filter does not
 * allow does not exist for the run: it is neither declared to the model nor found.
 */
export class ToolSet {
  readonly declarations: readonly ToolDeclaration[];
  private readonly found = new Map<string, FoundTool>();

  private constructor(boxes: readonly ToolBox[], lists: readonly (readonly Tool[])[], filter: ToolFilter) {
    const { allow: _, ...granted } = filter;
    boxes.forEach(({ name, isGranted }, index) => this.add(name, lists[index] ?? [], isGranted ? granted : filter));
    this.declarations = Object.freeze([...this.found.values()].map(({ tool }) => declarationOf(tool)));
  }

  static of(boxes: readonly ToolBox[], context: RunContext, filter?: ToolFilter): ToolSet {
    const lists = boxes.map((box) => box.tools(context));
    const cached = cache.get(boxes);
    if (cached && cached.filter === filter && areSame(cached.lists, lists)) return cached.set;
    const set = new ToolSet(boxes, lists, filter ?? ALL);
    cache.set(boxes, { lists, filter, set });
    return set;
  }

  get names(): readonly string[] {
    return [...this.found.keys()];
  }

  find(name: string): FoundTool | undefined {
    return this.found.get(name);
  }

  private add(origin: string, tools: readonly Tool[], filter: ToolFilter): void {
    for (const tool of tools) {
      if (this.found.has(tool.name) || !isAllowed(tool.name, filter)) continue;
      checkToolName(tool.name);
      this.found.set(tool.name, { tool: demanding(tool, demandOf(tool.name, filter)), origin });
    }
  }
}

function areSame(before: readonly unknown[], now: readonly unknown[]): boolean {
  return before.length === now.length && before.every((list, index) => list === now[index]);
}

function declarationOf({ name, description, inputSchema }: Tool): ToolDeclaration {
  return Object.freeze({ name, description, inputSchema });
}
