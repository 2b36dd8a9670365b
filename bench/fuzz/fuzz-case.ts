/** The credential of a request. `lease`: the lease token of an agent. `session`: the token of a session of the admin key. `forged`: an invented lease token. */
export const SENDERS = [
  'admin',
  'operator',
  'agent',
  'caller',
  'viewer',
  'lease',
  'session',
  'forged',
  'garbage',
  'none',
] as const;
export type Sender = (typeof SENDERS)[number];

/** How the bytes of a request are sent to the server. */
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

/** An HTTP request before it is serialised. Its texts contain slots (placeholders) instead of secrets, so it can be printed. */
export interface HttpCase {
  kind: 'http';
  operation: string;
  sender: Sender;
  method: string;
  /** Path and query. */
  target: string;
  headers: [name: string, value: string][];
  body?: string;
  /** The body has one character per byte, because it is not valid UTF-8. */
  binary?: boolean;
  delivery: Delivery;
  /** The names of the mutations of a valid request. */
  mutations: string[];
  /** The response is a stream without an end. */
  streams: boolean;
  /** Errors have the format of A2A, MCP or a catalog. */
  isProtocol?: boolean;
}

export interface FrameSpec {
  opcode: number;
  /** One character per byte when `binary`, else text. */
  payload: string;
  binary?: boolean;
  fin?: boolean;
  reserved?: number;
  masked?: boolean;
  /** The length in the header, if it differs from the payload. */
  announced?: number;
}

/** Opens a WebSocket and sends frames. The last frame is valid, and the server must respond to it. */
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
