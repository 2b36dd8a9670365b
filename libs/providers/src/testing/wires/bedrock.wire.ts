import { crc32 } from 'node:zlib';
import type { ModelUsage } from '../../models/model.provider.js';
import { type Answered, isAnswered, type Wire } from './scenario.js';

const FINISH = {
  say: 'end_turn',
  call: 'tool_use',
  refuse: 'guardrail_intervened',
  'run out of tokens': 'max_tokens',
} as const;
const PATH = /^\/v1\/model\/([^/]+)\/(converse|converse-stream)$/;
const STRING = 7;
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;

/** POST /model/{model}/converse of Amazon Bedrock. A stream consists of binary messages of AWS, one for each event. */
export const bedrockWire: Wire = {
  path: '/v1/model',
  namesEvents: false,
  keyOf: (headers) => String(headers['authorization']).replace('Bearer ', ''),
  requestOf(path) {
    const [, model, method] = PATH.exec(path) ?? [];
    return model === undefined ? undefined : { model, stream: method === 'converse-stream' };
  },
  binary: { type: 'application/vnd.amazon.eventstream', encode },

  reply: (scenario) => ({
    output: { message: { role: 'assistant', content: contentOf(scenario) } },
    stopReason: FINISH[scenario.does],
    usage: usageOf(scenario.usage),
    metrics: { latencyMs: 1 },
  }),

  frames(scenario) {
    const blocks =
      scenario.does === 'call'
        ? scenario.calls.flatMap(({ id, name, input }, contentBlockIndex) => [
            { contentBlockStart: { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } } },
            { contentBlockDelta: { contentBlockIndex, delta: { toolUse: { input: JSON.stringify(input) } } } },
            { contentBlockStop: { contentBlockIndex } },
          ])
        : scenario.pieces.map((text) => ({ contentBlockDelta: { contentBlockIndex: 0, delta: { text } } }));
    const frames: object[] = [{ messageStart: { role: 'assistant' } }, ...blocks];
    if (!isAnswered(scenario)) return frames;
    if (scenario.does !== 'call') frames.push({ contentBlockStop: { contentBlockIndex: 0 } });
    const metadata = { usage: usageOf(scenario.usage), metrics: { latencyMs: 1 } };
    return [...frames, { messageStop: { stopReason: FINISH[scenario.does] } }, { metadata }];
  },

  failure: (_status, message) => ({ message, type: 'ValidationException' }),
};

/** The lengths of the message and of its headers with their checksum, the headers, the body, and the checksum of it all. */
function encode(frame: object): Uint8Array {
  const [[name, content] = ['', {}]] = Object.entries(frame);
  const headers = Buffer.concat([
    header(':message-type', 'event'),
    header(':event-type', name),
    header(':content-type', 'application/json'),
  ]);
  const body = Buffer.from(JSON.stringify(content));
  const lengths = Buffer.concat([
    uint32(PRELUDE_BYTES + headers.length + body.length + CHECKSUM_BYTES),
    uint32(headers.length),
  ]);
  const message = Buffer.concat([lengths, uint32(crc32(lengths)), headers, body]);
  return Buffer.concat([message, uint32(crc32(message))]);
}

function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(value));
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([STRING]),
    length,
    Buffer.from(value),
  ]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function contentOf(scenario: Answered): object[] {
  if (scenario.does !== 'call') return [{ text: scenario.pieces.join('') }];
  return scenario.calls.map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input } }));
}

/** Unlike other vendors, Bedrock counts tokens of the cache separately. */
function usageOf(usage: ModelUsage): object {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens, cacheWriteTokens } = usage;
  return {
    inputTokens: inputTokens - (cacheReadTokens ?? 0) - (cacheWriteTokens ?? 0),
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    ...(cacheReadTokens !== undefined && { cacheReadInputTokens: cacheReadTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteInputTokens: cacheWriteTokens }),
  };
}
