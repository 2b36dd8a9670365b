import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CommandError, EXIT } from '../failure.js';
import type { Io } from '../io.js';

/** A server that a person uses, and the key for it. */
export interface Context {
  readonly url: string;
  readonly key?: string;
  readonly namespace?: string;
}

interface Contexts {
  readonly current?: string;
  readonly contexts: Readonly<Record<string, Context>>;
}

const NOTHING: Contexts = { contexts: {} };
const OTHERS = 0o077;

/** The contexts of a person, in a file that only its owner can read. It contains keys. */
export class ContextFile {
  readonly path: string;

  constructor({ env }: Pick<Io, 'env'>) {
    const home = env['HOME'] ?? homedir();
    const folder = env['XDG_CONFIG_HOME'] || join(home, '.config');
    this.path = join(folder, 'rollcall', 'contexts.json');
  }

  read(): Contexts {
    if (!existsSync(this.path)) return NOTHING;
    if ((statSync(this.path).mode & OTHERS) !== 0)
      throw new CommandError(
        'CONTEXTS_READABLE',
        `Other users can read ${this.path}, which contains keys. Run: chmod 600 ${this.path}`,
      );
    const found: unknown = parse(readFileSync(this.path, 'utf8'));
    if (isContexts(found)) return found;
    throw new CommandError(
      'CONTEXTS_INVALID',
      `${this.path} is damaged. Remove it, and sign in again with: rollcall login`,
    );
  }

  /** The chosen context, or else the current one. */
  find(name: string | undefined): { name: string; context: Context } | undefined {
    const { current, contexts } = this.read();
    const chosen = name ?? current;
    if (chosen === undefined) return undefined;
    const context = contexts[chosen];
    if (context !== undefined) return { name: chosen, context };
    if (name === undefined) return undefined;
    throw contextNotFound(name, Object.keys(contexts));
  }

  save(name: string, context: Context): void {
    const { contexts } = this.read();
    this.write({ current: name, contexts: { ...contexts, [name]: context } });
  }

  use(name: string): void {
    const { contexts } = this.read();
    if (contexts[name] === undefined) throw contextNotFound(name, Object.keys(contexts));
    this.write({ current: name, contexts });
  }

  remove(name: string): void {
    const { current, contexts } = this.read();
    if (contexts[name] === undefined) throw contextNotFound(name, Object.keys(contexts));
    const rest = Object.fromEntries(Object.entries(contexts).filter(([one]) => one !== name));
    this.write({ contexts: rest, ...(current !== undefined && current !== name && { current }) });
  }

  /** A reader never sees half a file, and no other user can read it at any time. */
  private write(contexts: Contexts): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    const next = `${this.path}.${process.pid}`;
    writeFileSync(next, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
    chmodSync(next, 0o600);
    renameSync(next, this.path);
  }
}

function contextNotFound(name: string, names: readonly string[]): CommandError {
  const known =
    names.length === 0 ? 'There is none; create one with: rollcall login' : `Known contexts: ${names.join(', ')}.`;
  return new CommandError('CONTEXT_NOT_FOUND', `There is no context ${name}. ${known}`, EXIT.notFound);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // reported as a damaged file
  }
}

function isContexts(value: unknown): value is Contexts {
  const contexts = (value as Partial<Contexts> | undefined)?.contexts;
  if (typeof contexts !== 'object' || contexts === null) return false;
  return Object.values(contexts).every((one: Partial<Context> | null) => typeof one?.url === 'string');
}
