import type { ModelUsage } from '../../models/model.provider.js';
import { type Answered, isAnswered, type ScenarioCall, type Wire } from './scenario.js';

const FINISH = { say: 'stop', call: 'tool_calls', refuse: 'stop', 'run out of tokens': 'length' } as const;

/** POST /v1/chat/completions of OpenAI, which Ollama, vLLM, llama.cpp and many LLM gateways offer too. */
export const openAiChatWire: Wire = {
  path: '/v1/chat/completions',
  namesEvents: false,
  terminator: '[DONE]',
  keyOf: (headers) => String(headers['authorization']).replace('Bearer ', ''),

  reply: (scenario, model) => ({
    ...envelope(model, 'chat.completion'),
    choices: [
      { index: 0, message: { role: 'assistant', ...messageOf(scenario) }, finish_reason: FINISH[scenario.does] },
    ],
    usage: usageOf(scenario.usage),
  }),

  frames(scenario, model) {
    const chunk = (delta: object, finish: string | null = null): object => ({
      ...envelope(model, 'chat.completion.chunk'),
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
    const field = scenario.does === 'refuse' ? 'refusal' : 'content';
    const middle =
      scenario.does === 'call'
        ? scenario.calls.flatMap(callDeltas)
        : scenario.pieces.map((text) => ({ [field]: text }));
    const frames = [chunk({ role: 'assistant', content: null }), ...middle.map((delta) => chunk(delta))];
    if (!isAnswered(scenario)) return frames;
    const usage = { ...envelope(model, 'chat.completion.chunk'), choices: [], usage: usageOf(scenario.usage) };
    return [...frames, chunk({}, FINISH[scenario.does]), usage];
  },

  failure: (_status, message) => ({ error: { message, type: 'server_error', param: null, code: null } }),
};

function envelope(model: string, object: string): object {
  return { id: 'chatcmpl-01', object, created: 1_763_251_200, model };
}

function messageOf(scenario: Answered): object {
  if (scenario.does === 'call') {
    const tool_calls = scenario.calls.map(({ id, name, input }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
    }));
    return { content: null, tool_calls };
  }
  const text = scenario.pieces.join('');
  return scenario.does === 'refuse' ? { content: null, refusal: text } : { content: text };
}

function callDeltas({ id, name, input }: ScenarioCall, index: number): object[] {
  const json = JSON.stringify(input);
  return [
    { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
    { tool_calls: [{ index, function: { arguments: json.slice(0, 4) } }] },
    { tool_calls: [{ index, function: { arguments: json.slice(4) } }] },
  ];
}

function usageOf(usage: ModelUsage): object {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens, reasoningTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(cacheReadTokens !== undefined && { prompt_tokens_details: { cached_tokens: cacheReadTokens } }),
    ...(reasoningTokens !== undefined && { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  };
}
