import type { Io } from '../io.js';

const WIDTH = 24;

/** The progress of work whose size is known. It is shown on a terminal only, and removed at the end. */
export class ProgressBar {
  private readonly isShown: boolean;
  private done = 0;

  constructor(
    private readonly io: Io,
    isText: boolean,
    private readonly title: string,
    private readonly total: number,
  ) {
    this.isShown = isText && io.stderr.isTTY === true;
    this.draw();
  }

  advance(count: number): void {
    this.done += count;
    this.draw();
  }

  end(): void {
    if (this.isShown) this.io.stderr.write('\r\u001b[K');
  }

  private draw(): void {
    if (!this.isShown) return;
    const filled = Math.round((this.done / this.total) * WIDTH);
    const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
    this.io.stderr.write(`\r\u001b[K${this.title} ${bar} ${this.done}/${this.total}`);
  }
}
