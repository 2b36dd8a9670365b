import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '#rollcall/test-support';

/** A block of commands, and the output that the page shows below it. */
export interface ReadStep {
  commands: string;
  /** Undefined if the page shows no output. */
  output?: string;
}

/** How long the reader pauses before each step, in seconds. `READER_PAUSE=40` proves that a slow reader succeeds, too. */
export const READER_PAUSE_S = Number(process.env['READER_PAUSE'] ?? 0);

/** Returns the `sh` blocks of a page in docs/. A `text` block that follows an `sh` block is its output. */
export function stepsOf(page: string): ReadStep[] {
  const text = readFileSync(resolve(import.meta.dirname, '../../docs', page), 'utf8');
  const blocks = text.matchAll(/```sh\n([\s\S]*?)```(?:\n\n```text\n([\s\S]*?)```)?/g);
  return [...blocks].map(([, commands = '', output]) => ({ commands, output }));
}

/** Returns the commands of the first `console` block of a page, each with the output below it. A command begins with `$ `. */
export function sessionOf(page: string): ReadStep[] {
  const text = readFileSync(resolve(import.meta.dirname, '../..', page), 'utf8');
  const block = /```console\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
  const entries = `\n${block}`.split('\n$ ').slice(1);
  return entries.map((entry) => {
    const [commands = '', ...output] = entry.split('\n');
    return { commands, output: output.join('\n') };
  });
}

/** Executes the steps of a page in one shell, as a reader does, and compares the output with the page. */
export class Reader {
  private readonly shell: ChildProcess;
  private printed = '';

  constructor(environment: Record<string, string> = {}, folder?: string) {
    this.shell = spawn('sh', [], {
      env: { PATH: process.env['PATH'] ?? '', ...environment },
      ...(folder !== undefined && { cwd: folder }),
      detached: true, // a process group of its own, so that `stop` also ends background processes
    });
    this.shell.stdout?.on('data', (chunk) => (this.printed += String(chunk)));
    this.shell.stderr?.on('data', (chunk) => (this.printed += String(chunk)));
  }

  /** Returns when the commands have printed the output of the page. A background process may print its part later. */
  async follow({ commands, output = '' }: ReadStep): Promise<void> {
    await delay(READER_PAUSE_S * 1000);
    this.printed = '';
    this.shell.stdin?.write(`${commands}\necho; echo "[ended]"\n`);
    await until('the commands have ended', () => this.printed.includes('[ended]\n'), 60_000);
    await until('the output is as on the page', () => contains(this.printed, output)).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${commands}\nexpected:\n${output}\nprinted:\n${this.printed}`);
    });
  }

  stop(): void {
    if (this.shell.pid !== undefined) process.kill(-this.shell.pid);
  }
}

/** Whether the text contains the parts of the documented output in their order. `…` stands for any text. */
function contains(printed: string, output: string): boolean {
  const text = comparable(printed);
  let position = 0;
  for (const part of comparable(output).split('…')) {
    const found = text.indexOf(part, position);
    if (found === -1) return false;
    position = found + part.length;
  }
  return true;
}

/** Removes white space and replaces numbers from 10 on, which may differ: the name of the weekday changes the number of tokens. */
function comparable(text: string): string {
  return text.replaceAll(/\s+/g, '').replaceAll(/\d{2,}/g, '00');
}
