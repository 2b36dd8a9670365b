import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('programs/obedient.mjs', import.meta.url));

interface Note {
  what: 'begin' | 'end';
  id: string;
  pid: number;
}

/** How to start programs/obedient.mjs with `node`, and what it noted down since. */
export class ObedientProgram {
  private readonly folder = mkdtempSync(join(tmpdir(), 'obedient-'));
  private readonly journal = join(this.folder, 'journal');

  constructor() {
    writeFileSync(this.journal, '');
  }

  get args(): string[] {
    return [PROGRAM, this.journal];
  }

  get begun(): number {
    return this.notes('begin').length;
  }

  /** Calls begun and not ended, by processes that still live. */
  get busy(): number {
    const ended = new Set(this.notes('end').map(({ pid, id }) => `${pid} ${id}`));
    return this.notes('begin').filter(({ pid, id }) => !ended.has(`${pid} ${id}`) && isAlive(pid)).length;
  }

  get pids(): number[] {
    return [...new Set(this.notes('begin').map(({ pid }) => pid))];
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private notes(what: Note['what']): Note[] {
    const lines = readFileSync(this.journal, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line) as Note).filter((note) => note.what === what);
  }
}

/** Zombies do not count: nobody may be there to collect them. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false; // no such process
  }
}
