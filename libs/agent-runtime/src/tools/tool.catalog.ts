import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import type { RunContext } from '../loop/run.context.js';
import { BuiltInToolBoxes } from './built-in/built-in.toolboxes.js';
import { ToolBoxNameTakenError, UnknownToolBoxError } from './tool.errors.js';
import { toolOf } from './tool.aliases.js';
import { ToolExplorer } from './tool.explorer.js';
import type { Approver } from './approver.js';
import { checkToolFilter, type KnownTools, type ToolFilter } from './tool.filter.js';
import type { Tool, ToolBox } from './tool.js';
import { TOOLS_OPTIONS, type ToolsOptions } from './tools.options.js';

export interface ListedTool {
  readonly tool: Tool;
  readonly toolbox: string;
  readonly enabled: boolean;
}

const MCP = 'mcp__';

/**
 * All toolboxes of this process, in this order: toolboxes with `@Tool`, toolboxes added by code, and built-in toolboxes. The order
 * allows an application to replace a built-in tool.
 */
@Injectable()
export class ToolCatalog implements OnModuleInit, OnApplicationBootstrap {
  private own: ToolBox[] = [];
  private enabled: readonly ToolBox[] = [];

  constructor(
    private readonly explorer: ToolExplorer,
    private readonly builtIn: BuiltInToolBoxes,
    @Inject(TOOLS_OPTIONS) private readonly options: ToolsOptions,
  ) {}

  onModuleInit(): void {
    for (const box of [...this.explorer.explore(), ...(this.options.boxes ?? [])]) this.add(box);
    this.refresh();
  }

  /** Checks the names of disabled toolboxes, after all modules have added their toolboxes. */
  onApplicationBootstrap(): void {
    const names = this.all().map(({ name }) => name);
    for (const name of this.options.off) if (!names.includes(name)) throw new UnknownToolBoxError(name, names);
  }

  /** The toolboxes that agents may use. Returns the same array until a toolbox is added. */
  get toolboxes(): readonly ToolBox[] {
    return this.enabled;
  }

  add(box: ToolBox): void {
    if (this.all().some(({ name }) => name === box.name)) throw new ToolBoxNameTakenError(box.name);
    this.own = [...this.own, box];
    this.refresh();
  }

  /** Lists all tools that a root run in this namespace would have, including the tools of disabled toolboxes. */
  list(namespace: string): ListedTool[] {
    const context = rootContext(namespace);
    return this.all().flatMap((box) => {
      const enabled = this.isEnabled(box);
      return box.tools(context).map((tool) => ({ tool, toolbox: box.name, enabled }));
    });
  }

  /** Throws TOOL_UNKNOWN if the filter names tools that no agent in this namespace can have. */
  checkFilter(filter: ToolFilter, namespace: string): void {
    checkToolFilter(filter, this.known(namespace));
  }

  /** The tools that a filter of an agent in this namespace may name, also by their aliases. `more` are tools that are not in the catalog. */
  known(namespace: string, more: Iterable<string> = []): KnownTools {
    const all = this.list(namespace);
    const names = new Set([...all.filter(({ enabled }) => enabled).map(({ tool }) => tool.name), ...more]);
    const off = new Map(
      all.flatMap(({ tool: { name }, toolbox }) => (names.has(name) ? [] : [[name, this.remedyFor(toolbox)]])),
    );
    const aliases = Object.entries(this.options.aliases).filter(([alias]) => !names.has(alias));
    for (const [alias, tool] of aliases) if (off.has(tool)) off.set(alias, off.get(tool)!);
    const usable = aliases.filter(([, tool]) => names.has(tool)).map(([alias]) => alias);
    const own = this.enabled.filter((box) => box.isFor?.(namespace) ?? true);
    const servers = own.filter(({ name }) => name.startsWith(MCP)).map(({ name }) => name.slice(MCP.length));
    return { tools: [...names, ...usable], mcpServers: servers, off };
  }

  /** The filter with the names of tools instead of their aliases. */
  resolved(filter: ToolFilter, namespace: string): ToolFilter {
    const names = new Set(this.list(namespace).flatMap(({ tool, enabled }) => (enabled ? [tool.name] : [])));
    const resolve = (entry: string): string => toolOf(entry, (name) => names.has(name), this.options.aliases);
    const { allow, deny, approve } = filter;
    return {
      ...(allow && { allow: allow.map(resolve) }),
      ...(deny && { deny: deny.map(resolve) }),
      ...(approve && { approve: resolvedDemands(approve, resolve) }),
    };
  }

  private all(): ToolBox[] {
    return [...this.own, ...this.builtIn.all];
  }

  /** What the operator does to turn a toolbox on. */
  private remedyFor(toolbox: string): string {
    if (this.options.off.includes(toolbox)) return `remove ${toolbox} from ROLLCALL_TOOLS_OFF`;
    return this.builtIn.off.get(toolbox) ?? '';
  }

  private isEnabled({ name }: ToolBox): boolean {
    return !this.options.off.includes(name) && !this.builtIn.off.has(name);
  }

  private refresh(): void {
    this.enabled = Object.freeze(this.all().filter((box) => this.isEnabled(box)));
  }
}

/** The context of a run without a parent. */
export function rootContext(namespace: string): RunContext {
  const limits = { maxDepth: 1, maxWidth: 1, maxRuns: 1 };
  const place = { rootRunId: '', runId: '', agentName: '', ancestry: [], depth: 0 };
  return { namespace, ...place, deadline: null, limits };
}

/** Two names may mean the same tool; the strictest demand applies then. */
function resolvedDemands(
  approve: NonNullable<ToolFilter['approve']>,
  resolve: (entry: string) => string,
): NonNullable<ToolFilter['approve']> {
  const demands = new Map<string, Approver>();
  for (const [entry, demand] of Object.entries(approve)) {
    const name = resolve(entry);
    if (demands.get(name) !== 'operator') demands.set(name, demand);
  }
  return Object.fromEntries(demands);
}
