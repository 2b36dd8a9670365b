import type { FrameSpec } from './fuzz-case.js';

const MASK = Buffer.from([0x12, 0x34, 0x56, 0x78]);

/** Serialises a frame, valid or invalid, as a client. */
export function toFrame(spec: FrameSpec): Buffer {
  const { opcode, payload, binary = false, fin = true, reserved = 0, masked = true } = spec;
  const bytes = Buffer.from(payload, binary ? 'latin1' : 'utf8');
  const first = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  const length = lengthOf(spec.announced ?? bytes.length, masked);
  if (!masked) return Buffer.concat([Buffer.from([first]), length, bytes]);
  const maskedBytes = bytes.map((byte, index) => byte ^ (MASK[index % 4] ?? 0));
  return Buffer.concat([Buffer.from([first]), length, MASK, maskedBytes]);
}

function lengthOf(length: number, masked: boolean): Buffer {
  const flag = masked ? 0x80 : 0;
  if (length < 126) return Buffer.from([flag | length]);
  if (length < 65_536) return Buffer.from([flag | 126, length >> 8, length & 0xff]);
  const bytes = Buffer.alloc(9);
  bytes[0] = flag | 127;
  bytes.writeBigUInt64BE(BigInt(length), 1);
  return bytes;
}

export interface ServerFrame {
  opcode: number;
  payload: Buffer;
}

/** Returns the complete frames at the start of the bytes, and the remaining bytes. The server neither masks nor fragments. */
export function readFrames(bytes: Buffer): { frames: ServerFrame[]; rest: Buffer } {
  const frames: ServerFrame[] = [];
  let rest = bytes;
  for (;;) {
    if (rest.length < 2) return { frames, rest };
    const short = (rest[1] ?? 0) & 0x7f;
    const start = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (rest.length < start) return { frames, rest };
    const length = short === 126 ? rest.readUInt16BE(2) : short === 127 ? Number(rest.readBigUInt64BE(2)) : short;
    if (rest.length < start + length) return { frames, rest };
    frames.push({ opcode: (rest[0] ?? 0) & 0x0f, payload: rest.subarray(start, start + length) });
    rest = rest.subarray(start + length);
  }
}
