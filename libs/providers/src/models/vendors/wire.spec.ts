import type { EgressClient } from '../../egress/egress.client.js';
import { costOf } from '../../presets/prices.js';
import { Secret } from '../../secrets/secret.js';
import { localEgress } from '../../testing/local-egress.js';
import { LocalServer } from '../../testing/local-server.js';
import { anthropicWire } from '../../testing/wires/anthropic.wire.js';
import { openAiChatWire } from '../../testing/wires/openai-chat.wire.js';
import { openAiResponsesWire } from '../../testing/wires/openai-responses.wire.js';
import { VendorServer } from '../../testing/wires/vendor.server.js';
import { type ModelMessage, userMessage } from '../message.js';
import type { ModelRequest } from '../model.provider.js';
import type { ModelVendor } from '../model.vendor.js';
import { AnthropicVendor } from './anthropic.vendor.js';
import { OpenAiCompatibleVendor } from './openai-compatible.vendor.js';
import { OpenAiVendor } from './openai.vendor.js';

const HELLO: ModelRequest = { messages: [userMessage('hello')] };
const USAGE = { inputTokens: 142, outputTokens: 9, cacheReadTokens: 100, cacheWriteTokens: 30 };
const TOOL_ROUND: ModelMessage[] = [
  { role: 'system', text: 'Be brief.' },
  userMessage('What is x?'),
  { role: 'assistant', content: [{ type: 'tool-call', id: 'call_1', name: 'search', input: { q: 'x' } }] },
  { role: 'tool', content: [{ type: 'tool-result', id: 'call_1', name: 'search', output: 'a letter' }] },
];
const REQUEST: ModelRequest = {
  messages: TOOL_ROUND,
  tools: [{ name: 'search', description: 'Finds things', inputSchema: { type: 'object', properties: { q: {} } } }],
  toolChoice: 'none',
  settings: { maxOutputTokens: 50, temperature: 0 },
};

describe('S1.10 requests to vendors and their answers', () => {
  let egress: EgressClient;
  const servers: { close(): Promise<void> }[] = [];
  beforeEach(() => {
    egress = localEgress();
  });
  afterEach(async () => {
    await egress.close();
    await Promise.all(servers.splice(0).map(async (server) => await server.close()));
  });

  const connect = (vendor: ModelVendor, baseUrl: string) =>
    vendor.open({ model: 'some-model', baseUrl, key: new Secret('sk-test-key'), fetch: egress.fetch });
  const startVendor = async (wire: typeof anthropicWire): Promise<VendorServer> => {
    const server = await VendorServer.start(wire);
    servers.push(server);
    return server;
  };
  const startServer = async (...answer: Parameters<typeof LocalServer.start>): Promise<LocalServer> => {
    const server = await LocalServer.start(...answer);
    servers.push(server);
    return server;
  };

  it('anthropic: sends system text, tools, tool results and the key in the format of the vendor', async () => {
    const server = await startVendor(anthropicWire);
    server.play({ does: 'say', pieces: ['ok'], usage: USAGE });
    const reply = await connect(new AnthropicVendor(), server.baseUrl).complete(REQUEST);
    expect(reply).toMatchObject({ usage: USAGE, id: 'msg_01', model: 'some-model' });
    expect(server.requests[0]?.headers).toMatchObject({ 'x-api-key': 'sk-test-key' });
    expect(server.requests[0]?.body).toMatchObject({
      max_tokens: 50,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'What is x?' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'search', input: { q: 'x' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1' }] },
      ],
    });
  });

  it('openai: sends the whole conversation and disables storage', async () => {
    const server = await startVendor(openAiResponsesWire);
    server.play({ does: 'say', pieces: ['ok'], usage: { ...USAGE, reasoningTokens: 4 } });
    const reply = await connect(new OpenAiVendor(), server.baseUrl).complete(REQUEST);
    expect(reply.usage).toEqual({ ...USAGE, reasoningTokens: 4 });
    expect(server.requests[0]?.body).toMatchObject({
      store: false,
      max_output_tokens: 50,
      tool_choice: 'none',
      tools: [{ type: 'function', name: 'search' }],
      input: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'input_text', text: 'What is x?' }] },
        { type: 'function_call', call_id: 'call_1', arguments: '{"q":"x"}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'a letter' },
      ],
    });
  });

  it('openai-compatible: sends no Authorization header without a key', async () => {
    const server = await startVendor(openAiChatWire);
    server.play({ does: 'say', pieces: ['ok'], usage: { ...USAGE, cacheWriteTokens: undefined, reasoningTokens: 2 } });
    const connection = { model: 'llama', baseUrl: server.baseUrl, fetch: egress.fetch };
    const reply = await new OpenAiCompatibleVendor().open(connection).complete(REQUEST);
    expect(reply.usage.reasoningTokens).toBe(2);
    expect(server.requests[0]?.headers['authorization']).toBeUndefined();
    expect(server.requests[0]?.body).toMatchObject({ model: 'llama', temperature: 0, max_tokens: 50 });
  });

  it('openai-compatible: leaves all counts undefined if the server reports no usage', async () => {
    const server = await startServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }] }),
      );
    });
    const model = connect(new OpenAiCompatibleVendor(), server.url);
    expect((await model.complete(HELLO)).usage).toEqual({});
  });

  it('openai-compatible: leaves invalid counts undefined', async () => {
    const server = await startServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      const usage = { prompt_tokens: 12.5, completion_tokens: -3, prompt_tokens_details: { cached_tokens: 4 } };
      const choices = [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }];
      response.end(JSON.stringify({ choices, usage }));
    });
    const { usage } = await connect(new OpenAiCompatibleVendor(), server.url).complete(HELLO);
    expect(usage).toEqual({ cacheReadTokens: 4 });
    expect(costOf(usage, { input: 1, output: 1 })).toBeUndefined();
  });

  it('anthropic: sends reasoning back with its signature', async () => {
    const server = await startServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(REASONING_REPLY));
    });
    const model = connect(new AnthropicVendor(), server.url);
    const { content } = await model.complete(HELLO);
    const stored = JSON.parse(JSON.stringify(content)) as typeof content; // a run stores the content as JSON
    await model.complete({ messages: [userMessage('a'), { role: 'assistant', content: stored }, userMessage('b')] });
    expect(server.requests[1]?.body).toMatchObject({
      messages: [{}, { content: [{ type: 'thinking', thinking: 'Hm.', signature: 'sig' }, { type: 'text' }] }, {}],
    });
  });

  it('openai-compatible: returns tool input that is not JSON as malformed', async () => {
    const server = await startServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      const call = { id: 'c', type: 'function', function: { name: 'search', arguments: '{"q":' } };
      const message = { role: 'assistant', content: null, tool_calls: [call] };
      response.end(JSON.stringify({ choices: [{ message, finish_reason: 'tool_calls' }] }));
    });
    const { content } = await connect(new OpenAiCompatibleVendor(), server.url).complete(HELLO);
    expect(content).toEqual([{ type: 'tool-call', id: 'c', name: 'search', input: {}, malformed: '{"q":' }]);
  });

  it.each([
    ['an answer that is not JSON', 200, '<html>', 'MODEL_ANSWER_UNREADABLE'],
    [
      'an account without credit',
      429,
      '{"error":{"message":"no","code":"insufficient_quota"}}',
      'MODEL_QUOTA_EXHAUSTED',
    ],
  ])('openai: reports %s with a specific error code', async (_what, status, body, code) => {
    const server = await startServer((_request, response) => response.writeHead(status).end(body));
    const call = connect(new OpenAiVendor(), server.url).complete(HELLO);
    await expect(call).rejects.toMatchObject({ code });
  });

  it('anthropic: reports an unreachable server as a retryable fault of the remote side', async () => {
    const server = await startServer(() => undefined);
    const { url } = server;
    await server.close();
    const call = connect(new AnthropicVendor(), url).complete(HELLO);
    await expect(call).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE', retryable: true, fault: 'remote' });
  });

  it('anthropic: reads a date in Retry-After relative to the Date header of the response', async () => {
    const headers = { date: 'Mon, 16 Nov 2026 05:00:00 GMT', 'retry-after': 'Mon, 16 Nov 2026 05:00:30 GMT' };
    const server = await startServer((_request, response) => response.writeHead(429, headers).end('{}'));
    const call = connect(new AnthropicVendor(), server.url).complete(HELLO);
    await expect(call).rejects.toMatchObject({ code: 'MODEL_RATE_LIMITED', retryAfterMs: 30_000 });
  });

  it('openai-compatible: requires a base URL', () => {
    expect(() => new OpenAiCompatibleVendor().open({ model: 'm', fetch: egress.fetch })).toThrow(/needs a baseUrl/);
  });
});

const REASONING_REPLY = {
  id: 'msg_02',
  type: 'message',
  role: 'assistant',
  model: 'some-model',
  content: [
    { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
    { type: 'text', text: 'ok' },
  ],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 2 },
};
