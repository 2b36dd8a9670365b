import type { ModelUsage } from '../../models/model.provider.js';
import { type Answered, isAnswered, type ScenarioCall, type Unfinished, type Wire } from './scenario.js';

const STOP_REASONS = {
  say: 'end_turn',
  call: 'tool_use',
  refuse: 'refusal',
  'run out of tokens': 'max_tokens',
} as const;

/** POST /v1/messages, as Anthropic documents it. */
export const anthropicWire: Wire = {
  path: '/v1/messages',
  namesEvents: true,
  keyOf: (headers) => String(headers['x-api-key']),

  reply: (scenario, model) => ({
    ...envelope(model),
    content:
      scenario.does === 'call'
        ? scenario.calls.map((call) => ({ type: 'tool_use', ...call }))
        : [{ type: 'text', text: scenario.pieces.join('') }],
    stop_reason: STOP_REASONS[scenario.does],
    usage: usageOf(scenario.usage),
  }),

  frames(scenario, model) {
    const usage = isAnswered(scenario) ? usageOf(scenario.usage) : { input_tokens: 5, output_tokens: 1 };
    const started = { ...envelope(model), content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
    const blocks =
      scenario.does === 'call' ? scenario.calls.flatMap(callFrames) : textFrames(scenario.pieces, isAnswered(scenario));
    return [{ type: 'message_start', message: started }, { type: 'ping' }, ...blocks, ...endFrames(scenario)];
  },

  failure: (status, message) => ({ type: 'error', error: { type: ERROR_TYPES[status] ?? 'api_error', message } }),
};

const ERROR_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

function envelope(model: string): object {
  return { id: 'msg_01', type: 'message', role: 'assistant', model, stop_sequence: null };
}

/** Anthropic does not include cached tokens in `input_tokens`. */
function usageOf({ inputTokens = 0, outputTokens, cacheReadTokens, cacheWriteTokens }: ModelUsage): object {
  return {
    input_tokens: inputTokens - (cacheReadTokens ?? 0) - (cacheWriteTokens ?? 0),
    output_tokens: outputTokens,
    cache_read_input_tokens: cacheReadTokens,
    cache_creation_input_tokens: cacheWriteTokens,
  };
}

function textFrames(pieces: string[], closed: boolean): object[] {
  return [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...pieces.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    ...(closed ? [{ type: 'content_block_stop', index: 0 }] : []),
  ];
}

function callFrames({ id, name, input }: ScenarioCall, index: number): object[] {
  const json = JSON.stringify(input);
  const halves = [json.slice(0, 4), json.slice(4)];
  return [
    { type: 'content_block_start', index, content_block: { type: 'tool_use', id, name, input: {} } },
    ...halves.map((half) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: half },
    })),
    { type: 'content_block_stop', index },
  ];
}

function endFrames(scenario: Answered | Unfinished): object[] {
  if (!isAnswered(scenario)) return [];
  const delta = { stop_reason: STOP_REASONS[scenario.does], stop_sequence: null };
  return [
    { type: 'message_delta', delta, usage: { output_tokens: scenario.usage.outputTokens } },
    { type: 'message_stop' },
  ];
}
