import { Writable } from 'node:stream';

/** A connection whose client reads when `read` is called. */
export class PacedConnection extends Writable {
  written = '';
  private pending: (() => void)[] = [];

  constructor(private isReading = false) {
    super({ highWaterMark: 4 });
  }

  read(): void {
    this.isReading = true;
    for (const done of this.pending.splice(0)) done();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written += String(chunk);
    if (this.isReading) done();
    else this.pending.push(done);
  }
}
