import { type Attributes, context, type Context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import type { CallContext } from '#rollcall/providers';

/** Without an SDK, the API creates spans that record nothing. */
export const tracer = trace.getTracer('rollcall.agent-runtime');

/** The attributes of a span that belongs to a run. */
export function operation(
  name: string,
  { agentName, namespace, runId, conversationId, depth }: CallContext,
): Attributes {
  return {
    'gen_ai.operation.name': name,
    'gen_ai.agent.name': agentName,
    ...(conversationId !== undefined && { 'gen_ai.conversation.id': conversationId }),
    'rollcall.namespace': namespace,
    'rollcall.run_id': runId,
    'rollcall.depth': depth,
  };
}

/** Does the work in the context of the span, and ends the span. */
export async function inSpan<Result>(span: Span, work: () => Promise<Result>, inside?: Context): Promise<Result> {
  try {
    return await context.with(inside ?? trace.setSpan(context.active(), span), work);
  } catch (error) {
    recordError(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Records only the code, because messages of unknown errors may contain secrets. */
export function recordError(span: Span, error: unknown): void {
  fail(span, errorTypeOf(error));
}

export function errorTypeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : String(name ?? '_OTHER');
}

export function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

interface TracedEvents<Event, Result> {
  readonly span: Span;
  /** The context of the span. A generator has no context of its own: it runs in the context of its reader. */
  readonly inside: Context;
  /** What the generator returns if its reader stops reading. */
  readonly abandoned: Result;
  onEvent?(event: Event): void;
  onResult?(result: Result): void;
}

/** The same events, which are produced in the context of the span. The span ends with them. */
export async function* tracedEvents<Event, Result>(
  events: AsyncGenerator<Event, Result, void>,
  { span, inside, abandoned, onEvent, onResult }: TracedEvents<Event, Result>,
): AsyncGenerator<Event, Result, void> {
  try {
    for (;;) {
      const step = await context.with(inside, async () => await events.next());
      if (step.done) {
        onResult?.(step.value);
        return step.value;
      }
      onEvent?.(step.value);
      yield step.value;
    }
  } catch (error) {
    recordError(span, error);
    throw error;
  } finally {
    try {
      await context.with(inside, async () => await events.return(abandoned));
    } finally {
      span.end();
    }
  }
}
