import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Io } from '../../apps/cli/src/io.js';
import { main } from '../../apps/cli/src/main.js';

export interface CliResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

interface CliOptions {
  env?: Record<string, string>;
  signal?: AbortSignal;
  input?: string;
}

/** Runs commands of `rollcall` in this process, with a home folder of their own and without a terminal. */
export class CliSession {
  readonly folder = mkdtempSync(join(tmpdir(), 'rollcall-cli-'));

  constructor(private readonly env: Record<string, string>) {}

  write(path: string, text: string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  async run(argv: readonly string[], { env = {}, signal, input }: CliOptions = {}): Promise<CliResult> {
    const result = { stdout: '', stderr: '' };
    const io: Io = {
      stdout: { write: (text) => (result.stdout += text) },
      stderr: { write: (text) => (result.stderr += text) },
      env: { HOME: this.folder, ...this.env, ...env },
      folder: this.folder,
      isInteractive: false,
      signal: signal ?? new AbortController().signal,
      readInput: async () =>
        await (input === undefined ? Promise.reject(new Error('it reads stdin')) : Promise.resolve(input)),
      ask: async (question) => await Promise.reject(new Error(`it asks: ${question}`)),
    };
    return { exitCode: await main(argv, io), ...result };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

/** The words of a documented command, without the shell around it. */
export function wordsOf(example: string): string[] {
  const [, line = ''] = /\brollcall ([^|)]+)/.exec(example) ?? [];
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

/** Throws if the text is not empty and not a document of the format. */
export function parseAs(format: string, text: string): unknown {
  if (text === '' || format === 'table' || format === 'wide' || format === 'name') return undefined;
  if (format === 'json') return JSON.parse(text);
  if (format === 'jsonl')
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) return undefined;
  return documents.map((document) => {
    const [error] = document.errors;
    if (error) throw error;
    return document.toJS() as unknown;
  });
}
