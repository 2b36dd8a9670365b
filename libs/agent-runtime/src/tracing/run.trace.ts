import { context, type Link, propagation, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import type { Run, RunTrace, TracePosition } from '../runs/run.js';
import { inSpan, tracer } from './span.js';

/** The trace of a run that is started now. Undefined if the request is not traced. */
export function traceOfStart(): { readonly trace?: RunTrace } {
  const parent = positionOf(context.active());
  return parent ? { trace: { parent } } : {};
}

/**
 * A span `run {agent}` for one execution of a run. It is part of the trace of the request that started the run. If an earlier execution was
 * interrupted, on this or another replica, the span has a link to it. `store` is called before the work begins, if the execution is recorded.
 */
export async function tracedExecution<Result>(
  { id, agentId, namespace, attempts, trace: stored }: Run,
  store: (trace: RunTrace) => Promise<void>,
  work: () => Promise<Result>,
): Promise<Result> {
  const from = stored ? contextOf(stored.parent) : ROOT_CONTEXT; // not the active context, which is that of any request
  const links = linksTo(stored?.execution);
  const attributes = {
    'gen_ai.agent.name': agentId,
    'rollcall.namespace': namespace,
    'rollcall.run_id': id,
    'rollcall.attempt': attempts,
  };
  const span = tracer.startSpan(`run ${agentId}`, { kind: SpanKind.INTERNAL, attributes, links }, from);
  const inside = trace.setSpan(from, span);
  const execution = span.isRecording() ? positionOf(inside) : undefined;
  return await inSpan(
    span,
    async () => {
      if (execution) await store({ parent: stored?.parent ?? execution, execution });
      return await work();
    },
    inside,
  );
}

function positionOf(active: Parameters<typeof propagation.inject>[0]): TracePosition | undefined {
  const headers: { traceparent?: string; tracestate?: string } = {};
  propagation.inject(active, headers);
  const { traceparent, tracestate } = headers;
  return traceparent === undefined ? undefined : { traceparent, ...(tracestate && { tracestate }) };
}

function contextOf(position: TracePosition): ReturnType<typeof propagation.extract> {
  return propagation.extract(ROOT_CONTEXT, position);
}

function linksTo(position: TracePosition | undefined): Link[] {
  const earlier = position && trace.getSpanContext(contextOf(position));
  return earlier ? [{ context: earlier }] : [];
}
