import { mutateJson, mutateText } from './body-mutations.js';
import { type FrameSpec, type SocketCase, SENDERS } from './fuzz-case.js';
import { hostileText } from './hostile-values.js';
import type { Random } from './random.js';
import { credentialsOf } from './senders.js';
import { slot } from './slots.js';
import { AGENTS, keepSlots } from './valid-request.js';

const TEXT = 1;
const MAX_FRAME_BYTES = 64 * 1_024;

interface SocketKind {
  path: string;
  query(agent: number): string;
  sender: 'lease' | 'viewer';
  frames: unknown[];
  last: unknown;
}

/** WebSockets are not in the OpenAPI document. Add a new one here. */
const SOCKETS: SocketKind[] = [
  {
    path: '/v1/agents/ws',
    query: (agent) => `agentId=${slot('agent', agent)}&generation=${slot('generation', agent)}`,
    sender: 'lease',
    frames: [{ event: 'beat', data: { inFlight: 3, load: 0.4, latencyMs: 850, usedTokens: 13 } }, { event: 'beat' }],
    last: { event: 'beat', data: { inFlight: 1 } },
  },
  {
    path: '/v1/events/ws',
    query: () => '',
    sender: 'viewer',
    frames: [
      { event: 'subscribe', data: { types: ['agent.*'], agentIds: ['a'], capabilities: ['code'], after: 'latest' } },
      { event: 'subscribe', data: { after: 'oldest', window: 5 } },
      { event: 'ack', data: { sequence: '1' } },
    ],
    last: { event: 'subscribe', data: { after: 'latest' } },
  },
];

export function socketCase(random: Random): SocketCase {
  const kind = random.pick(SOCKETS);
  const agent = random.below(AGENTS);
  const sender = random.chance(0.8) ? kind.sender : random.pick(SENDERS);
  const mutations: string[] = [];
  const headers = random.chance(0.9) ? handshake(13) : badHandshake(random, mutations);
  const count = random.between(1, 5);
  const frames = Array.from({ length: count }, () => frameOf(random, kind, mutations));
  return {
    kind: 'socket',
    operation: `WS ${kind.path}`,
    sender,
    target: `${kind.path}?${queryOf(random, kind.query(agent), mutations)}`,
    headers: [...credentialsOf(random, sender, agent), ...headers],
    frames,
    last: JSON.stringify(kind.last),
    mutations,
  };
}

function handshake(version: number | string): [string, string][] {
  const key: [string, string] = ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='];
  return [['Connection', 'Upgrade'], ['Upgrade', 'websocket'], ['Sec-WebSocket-Version', String(version)], key];
}

function badHandshake(random: Random, mutations: string[]): [string, string][] {
  mutations.push('handshake');
  const headers = handshake(random.pick([13, 8, 99, 'x']));
  const at = random.below(headers.length);
  return random.pick<() => [string, string][]>([
    () => headers.toSpliced(at, 1),
    () => [...headers, ['Sec-WebSocket-Extensions', 'permessage-deflate; x="']],
    () => [...headers, ['Sec-WebSocket-Protocol', 'a,,b, \x80']],
    () => [...headers, ['Sec-WebSocket-Key', 'short']],
    () => headers,
  ])();
}

function queryOf(random: Random, valid: string, mutations: string[]): string {
  if (random.chance(0.8)) return valid;
  mutations.push('query');
  const text = hostileText(random);
  const value = text.isWellFormed() ? keepSlots(text).slice(0, 9_000) : '%ED%A0%80';
  return random.pick([
    `${valid}&ticket=${value}`,
    `agentId=${value}&generation=1`,
    `agentId=a&generation=${value}`,
    value,
  ]);
}

function frameOf(random: Random, kind: SocketKind, mutations: string[]): FrameSpec {
  const valid = random.pick(kind.frames);
  const [value, mutation] = mutateJson(random, valid);
  const text = JSON.stringify(random.chance(0.2) ? valid : value);
  if (random.chance(0.7)) {
    mutations.push(mutation);
    return { opcode: TEXT, payload: text };
  }
  mutations.push('frame');
  return badFrame(random, text);
}

function badFrame(random: Random, text: string): FrameSpec {
  const { text: broken, binary } = mutateText(random, text);
  return random.pick<() => FrameSpec>([
    () => ({ opcode: TEXT, payload: broken, binary }),
    () => ({ opcode: 2, payload: text }),
    () => ({ opcode: 2, payload: '\xff\x00\xfe', binary: true }),
    () => ({ opcode: TEXT, payload: text, fin: false }),
    () => ({ opcode: 0, payload: text }),
    () => ({ opcode: random.pick([3, 7, 11, 15]), payload: text }),
    () => ({ opcode: 9, payload: 'x'.repeat(random.pick([0, 125, 126, 5_000])) }),
    () => ({ opcode: 10, payload: 'pong' }),
    () => ({
      opcode: 8,
      payload: random.pick(['', '\x03', '\x03\xed', '\x00\x00', '\x0f\xa0x', '\x03\xe8\xff\xff']),
      binary: true,
    }),
    () => ({ opcode: TEXT, payload: text, reserved: random.between(1, 7) }),
    () => ({ opcode: TEXT, payload: text, masked: false }),
    () => ({ opcode: TEXT, payload: text, announced: random.pick([1e6, 2 ** 40, 2 ** 62]) }),
    () => ({ opcode: TEXT, payload: 'x'.repeat(random.pick([MAX_FRAME_BYTES, MAX_FRAME_BYTES + 1, 300_000])) }),
  ])();
}
