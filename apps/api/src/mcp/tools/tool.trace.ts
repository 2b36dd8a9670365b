import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { context, type Link, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

const tracer = trace.getTracer('rollcall.mcp');

/**
 * A span `tools/call {name}` around a call of a tool by an MCP client. It continues the trace that the client names in `_meta`, because one
 * HTTP request says nothing about the call; the span of the request is then linked.
 */
export async function tracedToolCall(
  name: string,
  { mcpReq }: Pick<ServerContext, 'mcpReq'>,
  execute: () => Promise<CallToolResult>,
): Promise<CallToolResult> {
  const { parent, links } = positionOf(mcpReq._meta);
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'jsonrpc.request.id': String(mcpReq.id),
    'mcp.method.name': 'tools/call',
  };
  const span = tracer.startSpan(`tools/call ${name}`, { kind: SpanKind.SERVER, attributes, links }, parent);
  try {
    const result = await context.with(trace.setSpan(parent, span), execute);
    if (result.isError) {
      span.setAttribute('error.type', 'tool_error');
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    return result;
  } finally {
    span.end();
  }
}

function positionOf(meta: unknown): { parent: ReturnType<typeof context.active>; links: Link[] } {
  const active = context.active();
  const parent = propagation.extract(trace.deleteSpan(active), meta ?? {}, {
    get: (carrier, key) => textOf((carrier as Record<string, unknown>)[key]),
    keys: (carrier) => Object.keys(carrier),
  });
  const request = trace.getSpanContext(active);
  if (!trace.getSpanContext(parent)) return { parent: active, links: [] };
  return { parent, links: request ? [{ context: request }] : [] };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
