import type { Approver } from './approver.js';
import { UnknownToolError } from './tool.errors.js';

/**
 * The tools that an agent may use. `deny` is applied first. Without `allow`, all other tools are allowed; an empty `allow` allows
 * none. `mcp__server` and `mcp__server__*` mean all tools of that MCP server. In `deny`, `mcp__*` means the tools of all MCP servers.
 */
export interface ToolFilter {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  /** Tools whose calls must be approved, in addition to what the tools themselves demand. */
  readonly approve?: Readonly<Record<string, Approver>>;
}

/** The names that a filter may contain. */
export interface KnownTools {
  readonly tools: readonly string[];
  /** All configured MCP servers, including servers that have not reported their tools yet. */
  readonly mcpServers?: readonly string[];
  /** The tools that the operator has turned off, and their aliases, each with what turns it on. */
  readonly off?: ReadonlyMap<string, string>;
}

const MCP = 'mcp__';
/** Allowed only in `deny`. In `allow`, it would also allow the tools of servers that are added later. */
const ALL_SERVERS = 'mcp__*';

export function isAllowed(name: string, { allow, deny }: ToolFilter): boolean {
  if (deny?.some((entry) => matches(entry, name) || (entry === ALL_SERVERS && name.startsWith(MCP)))) return false;
  return allow === undefined || allow.some((entry) => matches(entry, name));
}

/** Who must approve the calls of a tool according to the filter. If several entries match, the strictest applies. */
export function demandOf(name: string, { approve = {} }: ToolFilter): Approver | undefined {
  const demands = Object.entries(approve).flatMap(([entry, demand]) => (matches(entry, name) ? [demand] : []));
  return demands.includes('operator') ? 'operator' : demands[0];
}

/** Throws TOOL_UNKNOWN with all entries of the filter that match no known tool. */
export function checkToolFilter({ allow = [], deny = [], approve = {} }: ToolFilter, known: KnownTools): void {
  const named = [...allow, ...Object.keys(approve)];
  const unknown = [...new Set([...unknownEntries(named, known), ...unknownDenied(deny, known)])];
  if (unknown.length === 0) return;
  throw new UnknownToolError(unknown, filterNames(known));
}

/** Returns the entries that match no known tool, each once. */
export function unknownEntries(entries: readonly string[], known: KnownTools): string[] {
  return [...new Set(entries)].filter((entry) => !isKnown(entry, known));
}

/** Like `unknownEntries`, but for entries of `deny`, which may name tools that are off. */
export function unknownDenied(entries: readonly string[], known: KnownTools): string[] {
  return unknownEntries(entries, known).filter((entry) => entry !== ALL_SERVERS && !known.off?.has(entry));
}

/** All names that a filter may contain, for suggestions. */
export function filterNames({ tools, mcpServers = [] }: KnownTools): string[] {
  return [...tools, ...mcpServers.map((server) => `${MCP}${server}`)];
}

function matches(entry: string, name: string): boolean {
  if (entry === name) return true;
  const server = wholeServer(entry);
  return server !== undefined && name.startsWith(`${MCP}${server}__`);
}

/** Returns the server of `mcp__server` or `mcp__server__*`. */
function wholeServer(entry: string): string | undefined {
  if (!entry.startsWith(MCP)) return undefined;
  const rest = entry.slice(MCP.length).replace(/__\*$/, '');
  return rest === '' || rest.includes('__') ? undefined : rest;
}

function isKnown(entry: string, { tools, mcpServers = [] }: KnownTools): boolean {
  if (tools.includes(entry)) return true;
  const server = wholeServer(entry);
  if (server !== undefined && mcpServers.includes(server)) return true;
  if (server !== undefined) return tools.some((name) => matches(entry, name));
  return mcpServers.some((one) => entry.startsWith(`${MCP}${one}__`) && !hasReported(one, tools));
}

/** Until a server has reported its tools, every name with its prefix is accepted. */
function hasReported(server: string, tools: readonly string[]): boolean {
  return tools.some((name) => name.startsWith(`${MCP}${server}__`));
}
