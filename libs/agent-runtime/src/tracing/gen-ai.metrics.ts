import { type Attributes, type Histogram, metrics } from '@opentelemetry/api';
import type { ModelUsage } from '#rollcall/providers';

/** The buckets that the conventions of OpenTelemetry name for calls of models. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];

interface Instruments {
  readonly duration: Histogram;
  readonly tokens: Histogram;
}

let instruments: Instruments | undefined;

/** Not created when this file is loaded, because an SDK may be registered later. Without an SDK, they record nothing. */
function created(): Instruments {
  const meter = metrics.getMeter('rollcall.agent-runtime');
  return {
    duration: meter.createHistogram('gen_ai.client.operation.duration', {
      description: 'The duration of a call of a model or of an agent outside of this process.',
      unit: 's',
      advice: { explicitBucketBoundaries: SECONDS },
    }),
    tokens: meter.createHistogram('gen_ai.client.token.usage', {
      description: 'The tokens of a call of a model.',
      unit: '{token}',
      advice: { explicitBucketBoundaries: TOKENS },
    }),
  };
}

/** Measures one call. The returned function must be called once, when the call has ended. */
export function meteredCall(facts: Attributes): (end: Attributes, usage?: ModelUsage) => void {
  instruments ??= created();
  const { duration, tokens } = instruments;
  const begin = performance.now();
  return (end, usage) => {
    const attributes = { ...facts, ...end };
    duration.record((performance.now() - begin) / 1_000, attributes);
    const { inputTokens, outputTokens } = usage ?? {};
    if (inputTokens !== undefined) tokens.record(inputTokens, { ...attributes, 'gen_ai.token.type': 'input' });
    if (outputTokens !== undefined) tokens.record(outputTokens, { ...attributes, 'gen_ai.token.type': 'output' });
  };
}
