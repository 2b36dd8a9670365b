import { type Attributes, context, type Span, SpanKind, trace } from '@opentelemetry/api';
import type {
  Agent,
  AgentEvent,
  AgentResult,
  CallContext,
  ModelProvider,
  ModelReply,
  ToolCallPart,
} from '#rollcall/providers';
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
} from '../middleware/middleware.js';
import { meteredCall } from './gen-ai.metrics.js';
import { errorTypeOf, fail, inSpan, operation, tracedEvents, tracer } from './span.js';

/**
 * A span `invoke_agent {name}` for each run, with the GenAI attributes of OpenTelemetry. The other spans of the run are its children.
 * `model` is the model of the agent.
 */
export function traceRuns(model?: Pick<ModelProvider, 'vendor' | 'model'>): RunMiddleware {
  const facts = model && { 'gen_ai.provider.name': providerName(model.vendor), 'gen_ai.request.model': model.model };
  return { name: 'tracing', run: (call, next) => tracedRun(call, next, facts ?? {}) };
}

/** A span `chat {model}` for each attempt to call a model. */
export const traceModelCalls: ModelMiddleware = { name: 'tracing', call: (call, next) => tracedCall(call, next) };

/** A span `execute_tool {name}` around a tool call. */
export function traceTool<Result extends { failed: boolean }>(
  { id, name }: ToolCallPart,
  run: RunContext,
  execute: () => Promise<Result>,
): Promise<Result> {
  const span = tracer.startSpan(`execute_tool ${name}`, { kind: SpanKind.INTERNAL });
  if (!span.isRecording()) return execute();
  span.setAttributes({
    ...operation('execute_tool', run),
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': id,
    'gen_ai.tool.type': 'function',
  });
  return inSpan(span, async () => {
    const result = await execute();
    if (result.failed) fail(span, 'tool_error');
    return result;
  });
}

/**
 * A span `invoke_agent {name}` for a call of an agent that has its own loop. Requests to agents outside of this process contain its position
 * in the trace.
 */
export function traceAgentCall(
  { agentType }: Pick<Agent, 'agentType'>,
  run: CallContext,
  call: () => AsyncGenerator<AgentEvent>,
): AsyncGenerator<AgentEvent> {
  const facts = { 'gen_ai.provider.name': PROVIDER_OF_TYPE[agentType] };
  const attributes = { ...operation('invoke_agent', run), ...facts };
  const span = tracer.startSpan(`invoke_agent ${run.agentName}`, { kind: SpanKind.CLIENT, attributes });
  const inside = trace.setSpan(context.active(), span);
  const events = context.with(inside, call);
  const measured = meteredCall({ 'gen_ai.operation.name': 'invoke_agent', ...facts });
  if (!span.isRecording()) return meteredEvents(events, measured);
  return tracedEvents(meteredEvents(events, measured), {
    span,
    inside,
    abandoned: undefined,
    onEvent: (event) => {
      if (event.type === 'finished') span.setAttributes(resultAttributes(event.result));
    },
  });
}

/** The name of the provider for an agent that names none: how it is called. */
const PROVIDER_OF_TYPE: Record<Agent['agentType'], string> = {
  'in-process': 'rollcall',
  api: 'http',
  remote: 'a2a',
  sdk: 'sdk',
  subprocess: 'subprocess',
};

/** The names of vendors in the conventions, where they differ from ours. */
const PROVIDER_OF_VENDOR: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  google: 'gcp.gemini',
};

function providerName(vendor: string): string {
  return PROVIDER_OF_VENDOR[vendor] ?? vendor;
}

async function* meteredEvents(
  events: AsyncGenerator<AgentEvent>,
  measured: ReturnType<typeof meteredCall>,
): AsyncGenerator<AgentEvent> {
  let end: Attributes = {};
  try {
    yield* events;
  } catch (error) {
    end = { 'error.type': errorTypeOf(error) };
    throw error;
  } finally {
    measured(end);
  }
}

/** If the span is not recorded, because there is no SDK or the run is not sampled, the events are not wrapped, which saves time. */
function tracedRun(call: RunCall, next: RunNext, facts: Attributes): LoopEvents {
  const attributes = { ...operation('invoke_agent', call.context), ...facts };
  const span = tracer.startSpan(`invoke_agent ${call.context.agentName}`, { kind: SpanKind.INTERNAL, attributes });
  const inside = trace.setSpan(context.active(), span);
  const events = context.with(inside, () => next(call));
  if (!span.isRecording()) return events;
  const onResult = (outcome: RunOutcome): void => void span.setAttributes(outcomeAttributes(outcome));
  return tracedEvents(events, { span, inside, abandoned: ABANDONED, onResult });
}

async function tracedCall(call: ModelCall, next: ModelNext): Promise<ModelReply> {
  const { model, vendor } = call.model;
  const facts = { 'gen_ai.provider.name': providerName(vendor), 'gen_ai.request.model': model };
  const span = tracer.startSpan(`chat ${model}`, { kind: SpanKind.CLIENT });
  const measured = meteredCall({ 'gen_ai.operation.name': 'chat', ...facts });
  try {
    const reply = span.isRecording() ? await recordedCall(call, next, span, facts) : await next(call);
    measured(reply.model === undefined ? {} : { 'gen_ai.response.model': reply.model }, reply.usage);
    return reply;
  } catch (error) {
    measured({ 'error.type': errorTypeOf(error) });
    throw error;
  }
}

function recordedCall(call: ModelCall, next: ModelNext, span: Span, facts: Attributes): Promise<ModelReply> {
  span.setAttributes({ ...operation('chat', call.context), ...facts, ...requestAttributes(call) });
  return inSpan(span, async () => {
    const reply = await next(call);
    span.setAttributes(replyAttributes(reply));
    return reply;
  });
}

function requestAttributes({ request: { settings = {} }, turn, attempt }: ModelCall): Attributes {
  return {
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

function resultAttributes(result: AgentResult): Attributes {
  const { outcome, usage } = result;
  return {
    'rollcall.outcome': outcome,
    ...(outcome === 'stopped' && { 'rollcall.stop_reason': result.reason }),
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
  };
}

function outcomeAttributes(outcome: RunOutcome): Attributes {
  const stop = outcome.type === 'stopped' ? { 'rollcall.stop_reason': outcome.reason } : {};
  return { 'rollcall.outcome': outcome.type, ...stop };
}
