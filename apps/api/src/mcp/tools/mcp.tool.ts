import type { CallToolResult, McpServer, ServerContext, ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Permission } from '../../auth/permissions.js';
import { problemOf } from '../../http/problems/problem.js';
import { schemaFailed } from '../../http/validation/validation.errors.js';
import type { McpCall } from '../mcp.call.js';
import { errorFacts, explanationOf } from '../mcp.errors.js';
import { tracedToolCall } from './tool.trace.js';

/** The facts about a tool in the list of tools. Models read the description. */
export interface ToolFacts {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations?: ToolAnnotations;
}

/** A tool for MCP clients. */
export interface McpTool extends ToolFacts {
  readonly permission: Permission;
  /** The JSON Schema of the input. */
  readonly schema: Record<string, unknown>;
  /** Never rejects. An error is a result, so that the model can read it. */
  execute(input: unknown, call: McpCall, context: ServerContext): Promise<CallToolResult>;
}

type Handler<Input> = (input: Input, call: McpCall, context: ServerContext) => Promise<CallToolResult>;

/** Creates a tool. Its input must match the schema; unknown fields are rejected. */
export function mcpTool<Schema extends z.ZodObject>(
  facts: ToolFacts & { permission: Permission },
  input: Schema,
  handle: Handler<z.infer<Schema>>,
): McpTool {
  return {
    ...facts,
    schema: z.toJSONSchema(input, { io: 'input' }),
    execute: async (given, call, context) => {
      try {
        return await handle(parsed(input, given), call, context);
      } catch (error) {
        return errorResult(error, call.request.id);
      }
    },
  };
}

export function addTool(mcp: McpServer, { name, schema, execute, ...facts }: McpTool, call: McpCall): void {
  const { title, description, annotations } = facts;
  mcp.registerTool(
    name,
    { title, description, annotations, inputSchema: declared(schema) },
    async (input, context) => await tracedToolCall(name, context, async () => await execute(input, call, context)),
  );
}

/** Creates a result with the same value as an object for programs and as text for models. */
export function jsonResult(value: object): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: { ...value } };
}

/** Creates a result with the error code that the REST API uses. */
function errorResult(error: unknown, requestId: string): CallToolResult {
  const facts = errorFacts(problemOf(error, requestId));
  const text = `${facts.code}: ${explanationOf(facts)}`;
  return { content: [{ type: 'text', text }], structuredContent: { ...facts }, isError: true };
}

/** Declares the schema without a check by the SDK, because the tool itself rejects an invalid input with `VALIDATION_FAILED`. */
function declared(schema: Record<string, unknown>) {
  return {
    '~standard': {
      version: 1,
      vendor: 'rollcall',
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  } as const;
}

function parsed<Schema extends z.ZodObject>(schema: Schema, input: unknown): z.infer<Schema> {
  const { data, error } = schema.safeParse(input ?? {});
  if (error) throw schemaFailed(error, { root: 'arguments' });
  return data;
}
