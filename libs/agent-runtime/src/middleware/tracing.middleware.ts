import { type Attributes, context, type Context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ModelReply, ToolCallPart } from '#rollcall/providers';
import type { RunContext } from '../loop/run.context.js';
import { ABANDONED, type RunOutcome } from '../loop/run.outcome.js';
import type {
  LoopEvents,
  ModelCall,
  ModelMiddleware,
  ModelNext,
  RunCall,
  RunMiddleware,
  RunNext,
} from './middleware.js';

/** Without an SDK, the API creates spans that record nothing. */
const tracer = trace.getTracer('rollcall.agent-runtime');

/** A span `invoke_agent {name}` for each run, with the GenAI attributes of OpenTelemetry. The other spans of the run are its children. */
export const traceRuns: RunMiddleware = { name: 'tracing', run: (call, next) => tracedRun(call, next) };

/** A span `chat {model}` for each attempt to call a model. */
export const traceModelCalls: ModelMiddleware = { name: 'tracing', call: (call, next) => tracedCall(call, next) };

/** A span `execute_tool {name}` around a tool call. */
export async function traceTool<Result extends { failed: boolean }>(
  { id, name }: ToolCallPart,
  run: RunContext,
  execute: () => Promise<Result>,
): Promise<Result> {
  const attributes = {
    ...operation('execute_tool', run),
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': id,
    'gen_ai.tool.type': 'function',
  };
  const span = tracer.startSpan(`execute_tool ${name}`, { kind: SpanKind.INTERNAL, attributes });
  return await ending(span, async () => {
    const result = await context.with(trace.setSpan(context.active(), span), execute);
    if (result.failed) fail(span, 'tool_error');
    return result;
  });
}

/** If the span is not recorded, because there is no SDK or the run is not sampled, the events are not wrapped, which saves time. */
function tracedRun(call: RunCall, next: RunNext): LoopEvents {
  const attributes = operation('invoke_agent', call.context);
  const span = tracer.startSpan(`invoke_agent ${call.context.agentName}`, { kind: SpanKind.INTERNAL, attributes });
  const inside = trace.setSpan(context.active(), span);
  const events = context.with(inside, () => next(call));
  return span.isRecording() ? recordedRun(inside, events, span) : events;
}

async function* recordedRun(inside: Context, events: LoopEvents, span: Span): LoopEvents {
  try {
    return yield* within(inside, events, span);
  } catch (error) {
    recordError(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Continues the run in the context of its span. A generator has no context of its own: it runs in the context of its reader. */
async function* within(inside: Context, events: LoopEvents, span: Span): LoopEvents {
  try {
    for (;;) {
      const step = await context.with(inside, async () => await events.next());
      if (!step.done) {
        yield step.value;
        continue;
      }
      span.setAttributes(outcomeAttributes(step.value));
      return step.value;
    }
  } finally {
    await context.with(inside, async () => await events.return(ABANDONED));
  }
}

function tracedCall(call: ModelCall, next: ModelNext): Promise<ModelReply> {
  const { model } = call.model;
  const span = tracer.startSpan(`chat ${model}`, { kind: SpanKind.CLIENT });
  if (!span.isRecording()) return next(call);
  span.setAttributes({ ...operation('chat', call.context), ...requestAttributes(call) });
  return ending(span, async () => {
    const reply = await context.with(trace.setSpan(context.active(), span), async () => await next(call));
    span.setAttributes(replyAttributes(reply));
    return reply;
  });
}

async function ending<Result>(span: Span, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    recordError(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Records only the code, because messages of unknown errors may contain secrets. */
function recordError(span: Span, error: unknown): void {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  fail(span, typeof code === 'string' ? code : String(name ?? '_OTHER'));
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function operation(name: string, { agentName, namespace, runId, rootRunId, depth }: RunContext): Attributes {
  return {
    'gen_ai.operation.name': name,
    'gen_ai.agent.name': agentName,
    'gen_ai.conversation.id': rootRunId,
    'rollcall.namespace': namespace,
    'rollcall.run_id': runId,
    'rollcall.depth': depth,
  };
}

function requestAttributes({ model, request: { settings = {} }, turn, attempt }: ModelCall): Attributes {
  return {
    'gen_ai.provider.name': model.vendor,
    'gen_ai.request.model': model.model,
    'gen_ai.request.max_tokens': settings.maxOutputTokens,
    'gen_ai.request.temperature': settings.temperature,
    'gen_ai.request.top_p': settings.topP,
    'gen_ai.request.seed': settings.seed,
    'rollcall.turn': turn,
    'rollcall.attempt': attempt,
  };
}

function replyAttributes({ id, model, finish, usage }: ModelReply): Attributes {
  return {
    'gen_ai.response.id': id,
    'gen_ai.response.model': model,
    'gen_ai.response.finish_reasons': [finish],
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage.cacheWriteTokens,
  };
}

function outcomeAttributes(outcome: RunOutcome): Attributes {
  const stop = outcome.type === 'stopped' ? { 'rollcall.stop_reason': outcome.reason } : {};
  return { 'rollcall.outcome': outcome.type, ...stop };
}
