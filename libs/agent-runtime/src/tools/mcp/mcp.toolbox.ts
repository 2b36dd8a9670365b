import { createHash } from 'node:crypto';
import { isForNamespace, type McpClient, type McpToolDefinition, ProviderError } from '#rollcall/providers';
import type { RunContext } from '../../loop/run.context.js';
import { untrustedData } from '../../untrusted.text.js';
import { UntrustedSchema, UntrustedSchemaError } from '../../schemas/untrusted.schema.js';
import { inputHashOf } from '../input.hash.js';
import { jsonProblem, storable } from '../json.check.js';
import type { Tool, ToolBox, ToolContext } from '../tool.js';
import type { SeenTool, ToolPinStore } from './tool-pin.store.js';

const MAX_DESCRIPTION_CHARS = 2_000;
/** Space for the label `untrusted_data` around a text. */
const LABEL_CHARS = 500;
const NO_TOOLS: readonly Tool[] = Object.freeze([]);

interface DisabledTool {
  readonly tool: string;
  readonly reason: string;
}

/** Whether a call may be repeated is not a part of the accepted definition: it concerns only the server that says it. */
interface McpTool extends SeenTool {
  readonly isIdempotent: boolean;
}

interface UsableTool extends McpTool {
  readonly offered: Tool;
}

/**
 * The tools of one MCP server. `refresh` reads them from the server; runs use what the last refresh found. A tool is offered only
 * if its definition is the accepted one and its schema is within the limits. The descriptions and the results of tools are labelled as untrusted.
 */
export class McpToolBox implements ToolBox {
  readonly name: string;
  disabled: readonly DisabledTool[] = [];
  /** The error of the last refresh. */
  error?: ProviderError;
  refreshed = false;
  private offered: readonly Tool[] = NO_TOOLS;
  private usable = new Map<string, UsableTool>();
  private refreshing?: Promise<void>;

  constructor(
    private readonly client: McpClient,
    private readonly pins: ToolPinStore,
    private readonly maxOutputChars: number,
  ) {
    this.name = `mcp__${client.name}`;
  }

  get server(): string {
    return this.client.name;
  }

  /** The number of tools that agents may use. */
  get size(): number {
    return this.offered.length;
  }

  isFor(namespace: string): boolean {
    return isForNamespace(this.client.config, namespace);
  }

  /** In a namespace that cannot use the server, the server has no tools. */
  tools({ namespace }: Pick<RunContext, 'namespace'>): readonly Tool[] {
    return this.isFor(namespace) ? this.offered : NO_TOOLS;
  }

  /** Reads the tools of the server. If the server cannot be reached, the tools stay, and their calls report why they fail. */
  async refresh(): Promise<void> {
    this.refreshing ??= this.read().finally(() => void (this.refreshing = undefined));
    await this.refreshing;
  }

  private async read(): Promise<void> {
    try {
      const definitions = await this.client.listTools();
      await this.apply(definitions.map((definition) => ({ name: definition.name, seen: toSeenTool(definition) })));
      this.error = undefined;
      this.refreshed = true;
    } catch (error) {
      if (error instanceof ProviderError) this.error = error;
      throw error;
    }
  }

  private async apply(all: readonly { name: string; seen: McpTool | string }[]): Promise<void> {
    const disabled: DisabledTool[] = [];
    const disable = (tool: string, reason: string): void => void disabled.push({ tool: tool.slice(0, 200), reason });
    const named = Map.groupBy(all, ({ name }) => mcpToolName(this.server, name));
    const seen: McpTool[] = [];
    for (const [name, same] of named) {
      for (const { name: tool, seen: one } of same) {
        if (typeof one === 'string') disable(tool, one);
        else if (same.length > 1) disable(tool, `Several tools of the server would be named ${name}.`);
        else seen.push(one);
      }
    }
    const accepted = await this.acceptedOf(seen);
    const usable = new Map<string, UsableTool>();
    for (const one of seen) {
      const offered = accepted.get(one.tool) === one.hash ? await this.offer(one) : WAITING;
      if (typeof offered === 'string') disable(one.tool, offered);
      else usable.set(one.tool, { ...one, offered });
    }
    this.replace(usable, disabled);
  }

  private async acceptedOf(seen: readonly SeenTool[]): Promise<Map<string, string | null>> {
    await this.pins.observe(this.server, seen, !this.client.config.requireAcceptance);
    const pins = await this.pins.list(this.server);
    return new Map(pins.map(({ tool, acceptedHash }) => [tool, acceptedHash]));
  }

  /** Keeps the same array while nothing changes, because tool sets are cached for this array. */
  private replace(usable: Map<string, UsableTool>, disabled: readonly DisabledTool[]): void {
    const before = this.offered;
    const offered = [...usable.values()].map((one) => one.offered);
    this.usable = usable;
    this.disabled = disabled;
    const isSame = before.length === offered.length && before.every((tool, index) => tool === offered[index]);
    if (!isSame) this.offered = Object.freeze(offered);
  }

  /** Returns the tool, or why it cannot be used. A definition that did not change is not compiled again. */
  private async offer(seen: McpTool): Promise<Tool | string> {
    const before = this.usable.get(seen.tool);
    if (before?.hash === seen.hash && before.isIdempotent === seen.isIdempotent) return before.offered;
    const { inputSchema } = seen.definition;
    try {
      if (inputSchema['type'] !== 'object') throw new UntrustedSchemaError('it does not describe an object');
      const what = `the input of ${mcpToolName(this.server, seen.tool)}`;
      const schema = UntrustedSchema.of(inputSchema, { what, group: this.name });
      await schema.compile();
      return this.toTool(seen, async (input) => await schema.parse(input));
    } catch (error) {
      if (!(error instanceof UntrustedSchemaError)) throw error;
      return `Its input schema cannot be used: ${error.message.slice(0, 300)}.`;
    }
  }

  private toTool(seen: McpTool, parse: Tool['parse']): Tool {
    const { $schema: _, ...inputSchema } = seen.definition.inputSchema;
    const { approve, timeoutMs } = this.client.config;
    const needsApproval = this.client.config.needsApproval || approve !== undefined;
    return Object.freeze({
      name: mcpToolName(this.server, seen.tool),
      description: describe(this.server, seen),
      inputSchema,
      parse,
      idempotent: seen.isIdempotent,
      needsApproval,
      ...(approve !== undefined && { approve }),
      timeoutMs,
      execute: async (input: unknown, context: ToolContext) => await this.call(seen, input, context),
    });
  }

  private async call(seen: SeenTool, input: unknown, { signal }: ToolContext): Promise<string> {
    this.checkUsable(seen);
    const definition = { name: seen.tool, inputSchema: seen.definition.inputSchema };
    try {
      const { text, isError } = await this.client.callTool(definition, input as Record<string, unknown>, { signal });
      const labelled = untrustedData(`${this.name}__${seen.tool}`, this.shortened(text));
      if (isError) throw new Error(labelled);
      return labelled;
    } catch (error) {
      if (!(error instanceof ProviderError) || error.code !== 'MCP_TOOL_FAILED') throw error;
      await this.refresh().catch(() => undefined); // an error of the refresh is ignored
      this.checkUsable(seen);
      throw new Error(untrustedData(this.name, error.message), { cause: error });
    }
  }

  /** A run keeps the tools that it began with, so a tool may have changed in the meantime. */
  private checkUsable({ tool, hash }: SeenTool): void {
    if (this.usable.get(tool)?.hash === hash) return;
    const reason = this.disabled.find((one) => one.tool === tool)?.reason;
    throw new Error(
      reason ??
        `The MCP server ${this.server} has removed, renamed or changed this tool. Do not call it again in this run.`,
    );
  }

  private shortened(text: string): string {
    const limit = Math.max(this.maxOutputChars - LABEL_CHARS, LABEL_CHARS);
    return text.length <= limit ? text : `${text.slice(0, limit)}\n[Cut: the result has ${text.length} characters.]`;
  }
}

export const WAITING = 'Its definition is new or has changed, and an operator has not accepted it yet.';

function describe(server: string, { tool, definition }: SeenTool): string {
  const { description } = definition;
  const text = description === '' ? 'No description.' : description.slice(0, MAX_DESCRIPTION_CHARS);
  return `A tool of the MCP server ${server}. ${untrustedData(`mcp__${server}__${tool}`, text)}`;
}

const MAX_NAME = 64;
const HASH_CHARS = 8;

/** `mcp__server__tool`, with only the characters and the length that all model vendors accept. */
function mcpToolName(server: string, tool: string): string {
  const name = `mcp__${server}__${tool.replaceAll(/[^a-zA-Z0-9_-]/g, '_')}`;
  if (name.length <= MAX_NAME) return name;
  const hash = createHash('sha256').update(tool).digest('hex').slice(0, HASH_CHARS);
  return `${name.slice(0, MAX_NAME - HASH_CHARS - 1)}_${hash}`;
}

const MAX_DEFINITION_BYTES = 32 * 1_024;
const MAX_NAME_CHARS = 128;
const UNPRINTABLE = /[\p{C}]/u;

/** Returns the tool with its hash, or why it cannot be used. */
function toSeenTool({ name, description, inputSchema, isIdempotent = false }: McpToolDefinition): McpTool | string {
  if (name === '' || name.length > MAX_NAME_CHARS || UNPRINTABLE.test(name))
    return `Its name is empty, longer than ${MAX_NAME_CHARS} characters, or has control characters.`;
  const definition = { description: storable(description), inputSchema };
  const problem = jsonProblem(definition, { maxBytes: MAX_DEFINITION_BYTES, rejectsReservedNames: true });
  if (problem !== undefined) return `Its definition ${problem}.`;
  if (JSON.stringify(inputSchema).includes('\\u0000'))
    return 'Its definition contains a character that cannot be stored.';
  return { tool: name, hash: inputHashOf({ name, ...definition }), definition, isIdempotent };
}
