import type { ModelUsage } from '../../models/model.provider.js';
import { type Answered, isAnswered, type Wire } from './scenario.js';

const FINISH = { say: 'STOP', call: 'STOP', refuse: 'SAFETY', 'run out of tokens': 'MAX_TOKENS' } as const;
const PATH = /^\/v1\/models\/([^:/]+):(streamGenerateContent|generateContent)$/;

/** POST /v1beta/models/{model}:generateContent of Google's Gemini API. */
export const googleWire: Wire = {
  path: '/v1/models',
  namesEvents: false,
  keyOf: (headers) => String(headers['x-goog-api-key']),
  requestOf(path) {
    const [, model, method] = PATH.exec(path) ?? [];
    return model === undefined ? undefined : { model, stream: method === 'streamGenerateContent' };
  },

  reply: (scenario, model) => ({
    ...envelope(model),
    candidates: [candidate(partsOf(scenario), FINISH[scenario.does])],
    usageMetadata: usageOf(scenario.usage),
  }),

  frames(scenario, model) {
    const parts = scenario.does === 'call' ? partsOf(scenario) : scenario.pieces.map((text) => ({ text }));
    const of = envelope(model);
    const frames: object[] = parts.map((part) => Object.assign({ candidates: [candidate([part])] }, of));
    if (!isAnswered(scenario)) return frames;
    const usageMetadata = usageOf(scenario.usage);
    return [...frames, { ...envelope(model), candidates: [candidate([], FINISH[scenario.does])], usageMetadata }];
  },

  failure: (status, message) => ({ error: { code: status, message, status: 'FAILED_PRECONDITION' } }),
};

function envelope(modelVersion: string): object {
  return { responseId: 'resp-01', modelVersion };
}

function candidate(parts: object[], finishReason?: string): object {
  return { index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) };
}

function partsOf(scenario: Answered): object[] {
  if (scenario.does !== 'call') return [{ text: scenario.pieces.join('') }];
  return scenario.calls.map(({ id, name, input }) => ({ functionCall: { id, name, args: input } }));
}

function usageOf({ inputTokens = 0, outputTokens = 0, cacheReadTokens, reasoningTokens }: ModelUsage): object {
  return {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens - (reasoningTokens ?? 0),
    totalTokenCount: inputTokens + outputTokens,
    ...(cacheReadTokens !== undefined && { cachedContentTokenCount: cacheReadTokens }),
    ...(reasoningTokens !== undefined && { thoughtsTokenCount: reasoningTokens }),
  };
}
