import { isDeepStrictEqual } from 'node:util';
import type { AgentProviderFacts, CostModel, WorkMode } from '../agent.record.js';
import type { AgentRow } from '../agent.store.js';

/** The declaration of an agent at its registration. The API has validated and normalised it. */
export interface Registration {
  name: string;
  endpoint: string | null;
  work: WorkMode;
  idempotent: boolean;
  agentCard: Record<string, unknown> | null;
  capabilities: string[];
  sandboxLevel: number;
  provider: AgentProviderFacts;
  budget: { totalTokens: number | null; usedTokens: number; source: string };
  costModel: CostModel;
  capacity: number | null;
  declaredMs: number | null;
  typicalTokens: number | null;
  version: string | null;
  definition: string | null;
  labels: Record<string, string>;
}

/** The part of a registration that an update may change. Budgets have their own routes. */
export type Declaration = Omit<Registration, 'budget'>;

/** A missing field stays unchanged. Labels and prices are merged; null removes a label or price. */
export interface AgentUpdate extends Partial<Omit<Declaration, 'labels' | 'costModel'>> {
  labels?: Record<string, string | null>;
  costModel?: Partial<CostModel>;
}

export const MAX_LABELS = 64;

const FIELDS = [
  'name',
  'endpoint',
  'work',
  'idempotent',
  'agentCard',
  'capabilities',
  'sandboxLevel',
  'provider',
  'costModel',
  'capacity',
  'declaredMs',
  'typicalTokens',
  'version',
  'definition',
  'labels',
] as const satisfies (keyof Declaration)[];

export function declarationOf(row: AgentRow): Declaration {
  return Object.fromEntries(FIELDS.map((field) => [field, row[field]])) as unknown as Declaration;
}

/** Returns the declaration after the update, and the names of the fields that changed. */
export function applyUpdate(before: Declaration, update: AgentUpdate): { after: Declaration; changed: string[] } {
  const { labels, costModel, ...plain } = update;
  const after: Declaration = {
    ...before,
    ...Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined)),
    labels: mergeLabels(before.labels, labels),
    costModel: { ...before.costModel, ...costModel },
  };
  return { after, changed: FIELDS.filter((field) => !isDeepStrictEqual(before[field], after[field])) };
}

function mergeLabels(before: Record<string, string>, changes: AgentUpdate['labels'] = {}): Record<string, string> {
  const merged: Record<string, string | null> = { ...before, ...changes };
  return Object.fromEntries(Object.entries(merged).filter((pair): pair is [string, string] => pair[1] !== null));
}
