import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('programs/fake-agent.mjs', import.meta.url));

interface JournalEntry {
  what: 'begin' | 'end';
  id: string;
  pid: number;
}

/** The arguments to start programs/fake-agent.mjs with `node`, and the calls that it has recorded. */
export class FakeProgram {
  private readonly folder = mkdtempSync(join(tmpdir(), 'fake-agent-'));
  private readonly journal = join(this.folder, 'journal');

  constructor() {
    writeFileSync(this.journal, '');
  }

  get args(): string[] {
    return [PROGRAM, this.journal];
  }

  get begun(): number {
    return this.entries('begin').length;
  }

  /** The number of calls that were started but not ended, in processes that are still running. */
  get busy(): number {
    const ended = new Set(this.entries('end').map(({ pid, id }) => `${pid} ${id}`));
    return this.entries('begin').filter(({ pid, id }) => !ended.has(`${pid} ${id}`) && isAlive(pid)).length;
  }

  get pids(): number[] {
    return [...new Set(this.entries('begin').map(({ pid }) => pid))];
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private entries(what: JournalEntry['what']): JournalEntry[] {
    const lines = readFileSync(this.journal, 'utf8').split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line) as JournalEntry).filter((entry) => entry.what === what);
  }
}

/** Zombies count as ended, because their parent may never collect them. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false; // no such process
  }
}
