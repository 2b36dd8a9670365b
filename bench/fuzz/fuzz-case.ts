/** Who sends a request. `lease` is an agent with its lease token, `forged` one with a made-up lease token. */
export const SENDERS = ['admin', 'operator', 'agent', 'viewer', 'lease', 'forged', 'garbage', 'none'] as const;
export type Sender = (typeof SENDERS)[number];

/** How the bytes of a request reach the server. */
export type Delivery =
  | 'whole'
  | 'chunked'
  | 'slow-body'
  | 'slow-head'
  | 'truncated'
  | 'abandoned'
  | 'bad-chunk'
  | 'two-lengths'
  | 'short-length'
  | 'long-length'
  | 'pipelined';

/** An HTTP request before it is written: texts hold slots, so no secret is in it and it can be printed. */
export interface HttpCase {
  kind: 'http';
  operation: string;
  sender: Sender;
  method: string;
  /** Path and query. */
  target: string;
  headers: [name: string, value: string][];
  body?: string;
  /** The body holds one character per byte, because it is not valid UTF-8. */
  binary?: boolean;
  delivery: Delivery;
  /** Names of what was changed in a valid request. */
  mutations: string[];
  /** The answer does not end by itself. */
  streams: boolean;
}

export interface FrameSpec {
  opcode: number;
  /** One character per byte when `binary`, else text. */
  payload: string;
  binary?: boolean;
  fin?: boolean;
  reserved?: number;
  masked?: boolean;
  /** Announces another length than the payload has. */
  announced?: number;
}

/** A WebSocket that is opened, sent frames, and sent one valid frame at the end, which must be answered. */
export interface SocketCase {
  kind: 'socket';
  operation: string;
  sender: Sender;
  target: string;
  headers: [name: string, value: string][];
  frames: FrameSpec[];
  last: string;
  mutations: string[];
}

export type FuzzCase = HttpCase | SocketCase;
