const END_OF_HEAD = '\r\n\r\n';
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');
const STATUS_CLASS_AT = 'http/1.1 '.length;
const NOTHING = Buffer.alloc(0);

/** Finds the end of each response on a connection. It reads the status and the length, or the last chunk, and nothing else. */
export class ResponseReader {
  private head: Buffer = NOTHING;
  /** The number of bytes that are still missing from a body with a known length. */
  private missing = 0;
  /** The last bytes so far of a chunked body; undefined if no chunked body is being read. */
  private tail: Buffer | undefined;

  /** Returns whether the response is complete. Throws if the server rejected the request. The reader keeps no reference to the bytes. */
  accept(bytes: Buffer): boolean {
    if (this.tail) return this.acceptChunks(this.tail, bytes);
    if (this.missing === 0) return this.acceptHead(this.head.length > 0 ? Buffer.concat([this.head, bytes]) : bytes);
    this.missing -= bytes.length;
    return this.missing === 0;
  }

  private acceptHead(bytes: Buffer): boolean {
    const end = bytes.indexOf(END_OF_HEAD);
    this.head = end < 0 ? Buffer.from(bytes) : NOTHING;
    if (end < 0) return false;
    const head = bytes.toString('latin1', 0, end).toLowerCase();
    if (head[STATUS_CLASS_AT] !== '2') throw new Error(`rejected under load: ${bytes.toString('latin1')}`);
    const body = bytes.subarray(end + END_OF_HEAD.length);
    if (head.includes('\r\ntransfer-encoding: chunked')) return this.acceptChunks(Buffer.from('\r\n'), body);
    const [, length = '0'] = /\r\ncontent-length: (\d+)/.exec(head) ?? [];
    this.missing = Number(length) - body.length;
    return this.missing === 0;
  }

  private acceptChunks(before: Buffer, bytes: Buffer): boolean {
    const tail = Buffer.concat([before, bytes]).subarray(-LAST_CHUNK.length);
    const isComplete = tail.equals(LAST_CHUNK);
    this.tail = isComplete ? undefined : Buffer.from(tail);
    return isComplete;
  }
}
