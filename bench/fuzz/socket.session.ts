import { setTimeout as delay } from 'node:timers/promises';
import { ResponseReader } from './response.reader.js';
import { readFrames, type ServerFrame, toFrame } from './frames.js';
import type { SocketCase } from './fuzz-case.js';
import { type Fault, judge, LATE_MS, leaksStack } from './oracle.js';
import { type Exchange, open } from './sender.js';
import { fill, type SlotValues } from './slots.js';

export interface SessionResult {
  faults: Fault[];
  late: boolean;
  exchange: Exchange;
}

const POLL_MS = 5;
const FRAME_GAP_MS = 5;
const MAX_ERROR_FRAME_BYTES = 64 * 1_024;
const TEXT = 1;
const CLOSE = 8;

/** Opens a socket, sends the frames of the case and a valid frame, and judges every frame of the server. */
export async function runSession(socketCase: SocketCase, port: number, values: SlotValues): Promise<SessionResult> {
  const socket = await open(port);
  const reader = new ResponseReader('GET');
  const state = { over: false };
  socket.on('data', (chunk: Buffer) => reader.push(chunk));
  for (const event of ['end', 'close']) socket.once(event, () => (state.over = true));
  const startedAt = performance.now();
  const waitFor = async (done: () => boolean, from = performance.now()): Promise<boolean> => {
    while (!done() && !state.over && performance.now() - from < 3 * LATE_MS) await delay(POLL_MS);
    return done() || state.over;
  };
  try {
    socket.write(handshakeOf(socketCase, port, values));
    const answered = await waitFor(() => reader.complete, startedAt);
    const exchange = exchangeOf(reader, startedAt, !answered);
    if (reader.head?.status !== 101)
      return { faults: judge(socketCase, exchange, false), late: exchange.ms > LATE_MS, exchange };
    for (const frame of socketCase.frames) {
      if (state.over) break;
      socket.write(toFrame({ ...frame, payload: fill(frame.payload, values) }));
      await delay(FRAME_GAP_MS);
    }
    const before = readFrames(reader.rest).frames.length;
    const lastAt = performance.now();
    if (!state.over) socket.write(toFrame({ opcode: TEXT, payload: socketCase.last }));
    const replied = await waitFor(() => isAnswered(socketCase, readFrames(reader.rest).frames, before), lastAt);
    const { frames } = readFrames(reader.rest);
    const ms = performance.now() - lastAt;
    return { faults: frames.flatMap(judgeFrame), late: !replied || ms > LATE_MS, exchange: { ...exchange, ms } };
  } finally {
    socket.destroy();
  }
}

function handshakeOf({ target, headers }: SocketCase, port: number, values: SlotValues): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${fill(value, values)}\r\n`).join('');
  return Buffer.from(`GET ${fill(target, values)} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${lines}\r\n`, 'latin1');
}

function exchangeOf(reader: ResponseReader, startedAt: number, timedOut: boolean): Exchange {
  const { head, body, size: received, fault } = reader;
  return { head, body, received, sent: 500, ms: performance.now() - startedAt, timedOut, ...(fault && { fault }) };
}

/** After an incomplete message, the server treats the last frame as a part of it, so no response is expected. */
function isAnswered({ frames: sent }: SocketCase, frames: ServerFrame[], before: number): boolean {
  const hangs = sent.some(({ fin, announced }) => fin === false || announced !== undefined);
  return hangs || frames.length > before || frames.some(({ opcode }) => opcode === CLOSE);
}

function judgeFrame({ opcode, payload }: ServerFrame): Fault[] {
  const text = payload.toString('utf8');
  const answer = text.slice(0, 600);
  if (opcode === CLOSE) {
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
    return code === 1011 ? [{ kind: 'server-error', detail: `close ${code}`, answer }] : [];
  }
  if (opcode !== TEXT || !text.startsWith('{"event":"error"')) return [];
  const { data } = JSON.parse(text) as { data: { status?: number; code?: string } };
  const faults: Fault[] = [];
  const detail = `${data.status} ${data.code}`;
  if (!data.status || data.status >= 500) faults.push({ kind: 'server-error', detail, answer });
  if (leaksStack(text)) faults.push({ kind: 'stack-trace', detail, answer });
  if (payload.length > MAX_ERROR_FRAME_BYTES) faults.push({ kind: 'amplified', detail, answer });
  return faults;
}
