const END_OF_HEAD = Buffer.from('\r\n\r\n');
const MAX_KEPT_BYTES = 4 * 1_024 * 1_024;

export interface ResponseHead {
  status: number;
  headers: Map<string, string>;
}

/** Reads one HTTP response from the bytes of a socket. HTTP clients cannot be used, because they do not send malformed requests. */
export class ResponseReader {
  head?: ResponseHead;
  /** The whole response has arrived. */
  complete = false;
  /** Why the response is not valid HTTP. */
  fault?: string;
  /** The bytes after the response: frames, after a 101. */
  rest: Buffer = Buffer.alloc(0);
  private waiting: Buffer = Buffer.alloc(0);
  private bytes = 0;

  constructor(private readonly method: string) {}

  push(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.complete) {
      this.rest = Buffer.concat([this.rest, chunk]);
      return;
    }
    if (this.waiting.length < MAX_KEPT_BYTES) this.waiting = Buffer.concat([this.waiting, chunk]);
    while (!this.head && this.readHead());
    if (this.head) this.readBody(this.head);
  }

  /** The server closed the connection. */
  end(): void {
    if (!this.head || this.complete) return;
    if (this.lengthOf(this.head) === undefined && !this.isChunked(this.head)) this.complete = true;
    else this.fault = 'the connection ended before the response did';
  }

  get body(): Buffer {
    if (!this.head) return Buffer.alloc(0);
    return this.isChunked(this.head) ? joinChunks(this.waiting) : this.waiting.subarray(0, this.lengthOf(this.head));
  }

  /** The number of bytes of the whole response, including the head. */
  get size(): number {
    return this.bytes;
  }

  private readHead(): boolean {
    const end = this.waiting.indexOf(END_OF_HEAD);
    if (end < 0) return false;
    const [first = '', ...lines] = this.waiting.toString('latin1', 0, end).split('\r\n');
    this.waiting = this.waiting.subarray(end + END_OF_HEAD.length);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) this.fault = `not an HTTP response: ${first.slice(0, 100)}`;
    if (status >= 100 && status < 200 && status !== 101) return true; // an interim response
    this.head = { status, headers: new Map(lines.map(toHeader)) };
    return false;
  }

  private readBody(head: ResponseHead): void {
    const { status } = head;
    const length = this.lengthOf(head);
    if (status === 101) {
      this.complete = true;
      this.rest = this.waiting;
    } else if (this.method === 'HEAD' || status === 204 || status === 304) this.complete = true;
    else if (length !== undefined) this.complete = this.waiting.length >= length;
    else if (this.isChunked(head)) this.complete = this.waiting.subarray(-7).toString('latin1').endsWith('0\r\n\r\n');
  }

  private lengthOf({ headers }: ResponseHead): number | undefined {
    const length = headers.get('content-length');
    return length === undefined ? undefined : Number(length);
  }

  private isChunked({ headers }: ResponseHead): boolean {
    return headers.get('transfer-encoding') === 'chunked';
  }
}

function toHeader(line: string): [string, string] {
  const at = line.indexOf(':');
  return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
}

function joinChunks(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    const length = Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (end < 0 || !(length > 0)) return Buffer.concat(parts);
    parts.push(bytes.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
}
