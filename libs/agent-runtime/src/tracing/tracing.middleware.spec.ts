import { context, trace } from '@opentelemetry/api';
import * as sdk from '@opentelemetry/sdk-node';
import { ProviderError, type ToolCallPart } from '#rollcall/providers';
import { given, outcomeOf } from '../testing/index.js';
import { composeModel, composeRun } from '../middleware/compose.js';
import type { RunNext } from '../middleware/middleware.js';
import { retry } from '../middleware/retry.middleware.js';
import { traceModelCalls, traceRuns, traceTool } from './tracing.middleware.js';

const exporter = new sdk.tracing.InMemorySpanExporter();
const provider = new sdk.node.NodeTracerProvider({ spanProcessors: [new sdk.tracing.SimpleSpanProcessor(exporter)] });

beforeAll(() => provider.register());
afterEach(() => exporter.reset());
afterAll(async () => {
  await provider.shutdown();
  trace.disable();
  context.disable();
});

const spans = (): sdk.tracing.ReadableSpan[] => exporter.getFinishedSpans();
const named = (name: string): sdk.tracing.ReadableSpan => {
  const found = spans().find((span) => span.name === name);
  if (!found) throw new Error(`no span ${name}`);
  return found;
};
const TOOL: ToolCallPart = { type: 'tool-call', id: 'call-1', name: 'search', input: {} };

/** A run with a failed attempt, a reply and a tool call. */
const loop: RunNext = async function* ({ context: run }) {
  let fails = 1;
  const model = composeModel([retry({ random: () => 0 }), traceModelCalls], async () => {
    if (fails-- > 0) throw new ProviderError('MODEL_OVERLOADED', 'busy');
    return { ...given.reply('ok'), id: 'reply-1', model: 'script-2' };
  });
  yield given.progress();
  await model(
    given.modelCall({ context: run, request: { messages: [], settings: { maxOutputTokens: 9, temperature: 0.5 } } }),
  );
  yield given.progress();
  await traceTool(TOOL, run, async () => ({ output: 'no', failed: true }));
  return { type: 'stopped', reason: 'iterations', detail: '', parts: [] };
};

describe('tracing', () => {
  it('S2.8 S2.9 records a run, its model calls and its tool calls with the GenAI attributes of OpenTelemetry', async () => {
    const running = composeRun([traceRuns({ vendor: 'scripted', model: 'script' })], loop)(given.runCall());
    await outcomeOf(running);
    expect(spans().map(({ name }) => name)).toEqual([
      'chat script',
      'chat script',
      'execute_tool search',
      'invoke_agent ada',
    ]);
    const run = named('invoke_agent ada');
    expect(run.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'ada',
      'gen_ai.provider.name': 'scripted',
      'rollcall.run_id': 'run-1',
      'rollcall.outcome': 'stopped',
      'rollcall.stop_reason': 'iterations',
    });
    for (const span of spans().slice(0, 3)) expect(span.parentSpanContext?.spanId).toBe(run.spanContext().spanId);
    expect(spans()[0]?.attributes).toMatchObject({ 'error.type': 'MODEL_OVERLOADED', 'rollcall.attempt': 1 });
    expect(spans()[1]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'script',
      'gen_ai.request.max_tokens': 9,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.response.id': 'reply-1',
      'gen_ai.response.model': 'script-2',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
      'rollcall.attempt': 2,
    });
    expect(named('execute_tool search').attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.call.id': 'call-1',
      'gen_ai.agent.name': 'ada',
      'error.type': 'tool_error',
    });
  });

  it('S2.8 a failed run ends its span with the code of the error, but without the message', async () => {
    const failing: RunNext = async function* () {
      yield given.progress();
      throw new ProviderError('MODEL_KEY_REFUSED', 'secret detail');
    };
    const running = composeRun([traceRuns({ vendor: 'scripted', model: 'script' })], failing)(given.runCall());
    await running.next();
    await expect(running.next()).rejects.toThrow('secret');
    const { attributes, status, events } = named('invoke_agent ada');
    expect(attributes).toMatchObject({ 'error.type': 'MODEL_KEY_REFUSED' });
    expect(JSON.stringify([status, events])).not.toContain('secret');
  });

  it('S2.8 ends the run and its span when the reader stops reading', async () => {
    const running = composeRun([traceRuns({ vendor: 'scripted', model: 'script' })], loop)(given.runCall());
    await running.next();
    await running.return({ type: 'completed', parts: [] });
    expect(spans().map(({ name }) => name)).toEqual(['invoke_agent ada']);
  });

  it('S2.9 each span belongs to its own run when several runs are concurrent', async () => {
    const runs = ['ada', 'bob'].map((agentName) =>
      composeRun(
        [traceRuns({ vendor: 'scripted', model: 'script' })],
        loop,
      )(given.runCall({ context: given.context({ agentName, runId: agentName }) })),
    );
    await Promise.all(runs.map(async (one) => await one.next()));
    await Promise.all(runs.map(async (one) => await outcomeOf(one)));
    for (const span of spans().filter(({ name }) => name === 'chat script')) {
      const agentName = span.attributes['gen_ai.agent.name'] as string;
      expect(span.parentSpanContext?.spanId).toBe(named(`invoke_agent ${agentName}`).spanContext().spanId);
    }
  });
});
