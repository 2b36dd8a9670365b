import type { ModelUsage } from '../../models/model.provider.js';
import { type Answered, isAnswered, type ScenarioCall, type Unfinished, type Wire } from './scenario.js';

/** POST /v1/responses, as OpenAI documents it. */
export const openAiResponsesWire: Wire = {
  path: '/v1/responses',
  namesEvents: true,
  keyOf: (headers) => String(headers['authorization']).replace('Bearer ', ''),

  reply: (scenario, model) => finished(scenario, model),

  frames(scenario, model) {
    const begun = { ...envelope(model), status: 'in_progress', output: [], usage: null };
    const items = scenario.does === 'call' ? scenario.calls.flatMap(callFrames) : messageFrames(scenario);
    const frames = [{ type: 'response.created', response: begun }, ...items, ...endFrames(scenario, model)];
    return frames.map((frame, index) => Object.assign(frame, { sequence_number: index }));
  },

  failure: (status, message) => ({
    error: { message, type: status === 429 ? 'rate_limit_error' : 'invalid_request_error', param: null, code: null },
  }),
};

function envelope(model: string): object {
  return { id: 'resp_01', object: 'response', created_at: 1_763_251_200, model, error: null, incomplete_details: null };
}

function finished(scenario: Answered, model: string): object {
  const short = scenario.does === 'run out of tokens';
  return {
    ...envelope(model),
    status: short ? 'incomplete' : 'completed',
    incomplete_details: short ? { reason: 'max_output_tokens' } : null,
    output: scenario.does === 'call' ? scenario.calls.map(callItem) : [messageItem(scenario)],
    usage: usageOf(scenario.usage),
  };
}

function usageOf(usage: ModelUsage): object {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: reasoningTokens === undefined ? null : { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

function callItem({ id, name, input }: ScenarioCall, index: number): object {
  const item = { type: 'function_call', id: `fc_${index}`, call_id: id, name };
  return { ...item, arguments: JSON.stringify(input), status: 'completed' };
}

type Prose = Exclude<Answered | Unfinished, { does: 'call' }>;

function messageItem({ does, pieces }: Prose): object {
  const text = pieces.join('');
  const part =
    does === 'refuse'
      ? { type: 'refusal', refusal: text }
      : { type: 'output_text', text, annotations: [], logprobs: [] };
  return { type: 'message', id: 'msg_01', status: 'completed', role: 'assistant', content: [part] };
}

function callFrames(call: ScenarioCall, output_index: number): object[] {
  const item = callItem(call, output_index);
  const item_id = `fc_${output_index}`;
  const json = JSON.stringify(call.input);
  const delta = { type: 'response.function_call_arguments.delta', item_id, output_index };
  return [
    { type: 'response.output_item.added', output_index, item: { ...item, arguments: '', status: 'in_progress' } },
    { ...delta, delta: json.slice(0, 4) },
    { ...delta, delta: json.slice(4) },
    { type: 'response.function_call_arguments.done', item_id, output_index, arguments: json },
    { type: 'response.output_item.done', output_index, item },
  ];
}

function messageFrames(scenario: Prose): object[] {
  const place = { item_id: 'msg_01', output_index: 0, content_index: 0 };
  const type = scenario.does === 'refuse' ? 'response.refusal.delta' : 'response.output_text.delta';
  const item = { type: 'message', id: 'msg_01', status: 'in_progress', role: 'assistant', content: [] };
  const text = scenario.pieces.join('');
  const done =
    scenario.does === 'refuse'
      ? { type: 'response.refusal.done', ...place, refusal: text }
      : { type: 'response.output_text.done', ...place, text, logprobs: [] };
  const ending = [done, { type: 'response.output_item.done', output_index: 0, item: messageItem(scenario) }];
  return [
    { type: 'response.output_item.added', output_index: 0, item },
    ...scenario.pieces.map((delta) => ({ type, ...place, delta, logprobs: [] })),
    ...(isAnswered(scenario) ? ending : []),
  ];
}

function endFrames(scenario: Answered | Unfinished, model: string): object[] {
  if (!isAnswered(scenario)) return [];
  const type = scenario.does === 'run out of tokens' ? 'response.incomplete' : 'response.completed';
  return [{ type, response: finished(scenario, model) }];
}
