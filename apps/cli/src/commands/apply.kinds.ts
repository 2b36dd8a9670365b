import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { BudgetView, KeyView, Rollcall } from '#rollcall/client';
import { describeFailure, usageError } from '../failure.js';
import { saveKey } from './keys.js';

/** A document of a file for `rollcall apply`. */
export type Document =
  | { kind: 'definition'; name?: string; content?: Record<string, unknown> }
  | {
      kind: 'budget';
      of?: BudgetView['kind'];
      subject?: string;
      window?: BudgetView['window'];
      limit?: { tokens?: number; usd?: number };
    }
  | { kind: 'key'; name?: string; roles?: KeyView['roles']; namespace?: string; saveTo?: string };

type DocumentOf<Kind extends Document['kind']> = Extract<Document, { kind: Kind }>;

export interface Change {
  readonly kind: Document['kind'];
  readonly name: string;
  readonly change: 'created' | 'changed' | 'unchanged';
  readonly differences: readonly { field: string; before?: unknown; after?: unknown }[];
}

interface Target {
  readonly rollcall: Rollcall;
  readonly folder: string;
  readonly dryRun: boolean;
}

/** The fields of the document decide; an equal definition gets no new revision. */
export async function applyDefinition({ rollcall, dryRun }: Target, document: Document): Promise<Change> {
  const { name = '', content } = document as DocumentOf<'definition'>;
  if (name === '' || content === undefined)
    throw usageError('A document of the kind definition needs `name` and `content`.');
  const body = { name, content: content as never };
  const current = await orNothing(rollcall.definitions.get(name));
  if (current === undefined) {
    if (dryRun)
      await rollcall.definitions.preview(body); // rejects what the registration would reject
    else await rollcall.definitions.register(body);
    return { kind: 'definition', name, change: 'created', differences: differencesOf({}, content) };
  }
  const differences = differencesOf({ ...current.content }, content);
  if (differences.length > 0) {
    if (dryRun) await rollcall.definitions.preview(body);
    else await rollcall.definitions.replace(name, { content: body.content });
  }
  return { kind: 'definition', name, change: differences.length > 0 ? 'changed' : 'unchanged', differences };
}

export async function applyBudget({ rollcall, dryRun }: Target, document: Document): Promise<Change> {
  const { of: kind, subject, window = 'total', limit } = document as DocumentOf<'budget'>;
  if (kind === undefined || limit === undefined)
    throw usageError('A document of the kind budget needs `of` and `limit`.');
  const wanted = {
    tokens: limit.tokens ?? null,
    microUsd: limit.usd === undefined ? null : Math.round(limit.usd * 1_000_000),
  };
  const given = {
    ...(wanted.tokens !== null && { tokens: wanted.tokens }),
    ...(wanted.microUsd !== null && { microUsd: wanted.microUsd }),
  };
  const name = [kind, subject, window].filter(Boolean).join('/');
  let current: BudgetView | undefined;
  for await (const budget of rollcall.budgets.list({ kind, ...(subject !== undefined && { subject }) }))
    if (budget.window === window && (subject !== undefined || kind === 'namespace' || kind === 'fleet'))
      current ??= budget;
  if (current === undefined) {
    if (!dryRun) await rollcall.budgets.open({ kind, window, limit: given, ...(subject !== undefined && { subject }) });
    return { kind: 'budget', name, change: 'created', differences: differencesOf({}, given) };
  }
  const differences = differencesOf({ ...current.limit }, given);
  if (differences.length > 0 && !dryRun)
    await rollcall.budgets.adjust(current.id, { limit: given, note: 'rollcall apply' });
  return { kind: 'budget', name, change: differences.length > 0 ? 'changed' : 'unchanged', differences };
}

/** A key is identified by its name. Its roles cannot change, so another role needs another name. */
export async function applyKey({ rollcall, folder, dryRun }: Target, document: Document): Promise<Change> {
  const { name = '', roles, namespace, saveTo } = document as DocumentOf<'key'>;
  if (name === '' || roles === undefined || saveTo === undefined)
    throw usageError('A document of the kind key needs `name`, `roles` and `saveTo`, a file for the key.');
  for await (const key of rollcall.keys.list({})) {
    if (key.name !== name || key.status !== 'active' || (namespace !== undefined && key.namespace !== namespace))
      continue;
    if (!isDeepStrictEqual(key.roles.toSorted(), [...roles].toSorted()))
      throw usageError(`The key ${name} has the roles ${key.roles.join(', ')}, which cannot change. Use another name.`);
    return { kind: 'key', name, change: 'unchanged', differences: [] };
  }
  const file = resolve(folder, saveTo);
  if (existsSync(file)) throw usageError(`${saveTo} exists. Choose another file for the key ${name}.`);
  if (!dryRun)
    saveKey(file, (await rollcall.keys.issue({ name, roles, ...(namespace !== undefined && { namespace }) })).key);
  return { kind: 'key', name, change: 'created', differences: [{ field: 'roles', after: roles }] };
}

/** The wanted fields that differ. The server fills in the others with defaults. */
function differencesOf(current: Record<string, unknown>, wanted: Record<string, unknown>): Change['differences'] {
  return Object.entries(wanted)
    .filter(([field, after]) => !isDeepStrictEqual(current[field], after))
    .map(([field, after]) => ({ field, before: current[field], after }));
}

async function orNothing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (describeFailure(error).error.status === 404) return undefined;
    throw error;
  }
}
