import type { Io } from '../io.js';
import { cut, escapeControls } from './text.js';

const FRAME_MS = 80;

/** A few lines at the bottom of a terminal that are drawn again while work is in progress, and removed at the end. */
export class LiveBlock {
  private drawn = 0;
  private frame: NodeJS.Timeout | undefined;
  private lines: () => readonly string[] = () => [];

  constructor(private readonly io: Io) {}

  /** Draws soon, at most once per frame. */
  show(lines: () => readonly string[]): void {
    this.lines = lines;
    this.frame ??= setTimeout(() => {
      this.frame = undefined;
      this.draw();
    }, FRAME_MS);
  }

  /** Removes the block, so that the lines of `print` stay above it. */
  print(print: () => void): void {
    this.clear();
    print();
    this.show(this.lines);
  }

  end(): void {
    clearTimeout(this.frame);
    this.frame = undefined;
    this.clear();
  }

  private draw(): void {
    this.clear();
    const columns = this.io.stderr.columns ?? 80;
    const shown = this.lines().map((line) => cut(escapeControls(line), columns - 1));
    this.io.stderr.write(shown.map((line) => `${line}\n`).join(''));
    this.drawn = shown.length;
  }

  private clear(): void {
    if (this.drawn > 0) this.io.stderr.write(`\u001b[${this.drawn}A\u001b[J`);
    this.drawn = 0;
  }
}
