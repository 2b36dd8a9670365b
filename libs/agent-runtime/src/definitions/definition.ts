import type { WantedModel } from '#rollcall/providers';
import type { Approver } from '../tools/approver.js';
import { capabilityFault, normaliseCapability } from '#rollcall/registry';

/** The provider of the agents that Rollcall runs itself. */
export const NATIVE = 'native';

/** The name of a definition becomes the id of its agent. */
const DEFINITION_NAME = /^[A-Za-z0-9][\w.:-]{0,127}$/;
const MAX_NAME_LENGTH = 128;
const MAX_QUOTED = 80;

/** Letters, digits, and characters that occur in the names of technologies, such as `c++`, `c#` and `ci/cd`. */
const VALID_CAPABILITY = /^[\p{L}\p{M}\p{N}+#/:@-]+(?:\.[\p{L}\p{M}\p{N}+#/:@-]+)*$/u;

/** What an agent is and may do. Plain JSON: the same content always has the same hash. */
export interface DefinitionContent {
  description: string;
  /** The system prompt. */
  instructions: string;
  /** The agent provider: `native` by default. Other providers read `settings`. */
  provider: string;
  settings?: Record<string, unknown>;
  model?: WantedModel;
  /** Null or absent: all tools, or those of the parent. An empty list: no tools. */
  tools?: readonly string[] | null;
  disallowedTools?: readonly string[];
  /** Tools whose calls must be approved, in addition to what the tools demand, and who may approve them. */
  approve?: Readonly<Record<string, Approver>>;
  skills?: readonly { name: string; mode: 'preload' | 'catalog' }[];
  capabilities?: readonly string[];
  /** The price of the agent in the registry. Absent: that of its model. */
  costModel?: { usdPerTask?: number | null; usdPer1kTokens?: number | null };
  maxIterations?: number;
  maxDelegationDepth?: number;
  maxConcurrency?: number;
  whenBusy?: 'queue' | 'reject';
  budget?: { tokens: number | null; microUsd: number | null };
  inheritTools?: 'union' | 'intersection' | 'off';
  /** The agents that may be called. Absent: all. */
  subagents?: readonly string[];
  /** Whether the agent may ask its caller a question. Absent: no. */
  mayAsk?: boolean;
  outputSchema?: Record<string, unknown>;
  /** The plugins that the agent needs. Only replicas that have them execute its runs. Plugins that the other fields name are added. */
  plugins?: readonly string[];
  metadata?: Record<string, unknown>;
}

/** The name of a definition in a namespace. Agents share these names: an agent of a definition has its name by default. */
export interface DefinitionKey {
  namespace: string;
  name: string;
}

/** Where a definition comes from. */
export type DefinitionSource = 'code' | 'config' | 'rest' | 'file';

/** One immutable revision of a definition. */
export interface Definition extends DefinitionKey {
  revision: number;
  content: DefinitionContent;
  source: DefinitionSource;
  hash: string;
  createdAt: string;
  createdBy: string;
}

export function isDefinitionName(name: string): boolean {
  return DEFINITION_NAME.test(name);
}

/** A name in a message. It may be the invalid name of a request, so it is cut. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > MAX_QUOTED ? `${name.slice(0, MAX_QUOTED)}…` : name);
}

/** Proposes a valid name that is similar to the text: `Code Reviewer` becomes `code-reviewer`. Undefined if there is none. */
export function proposedName(text: string): string | undefined {
  const words = text
    .slice(0, MAX_NAME_LENGTH)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\w.:-]/);
  const name = words
    .filter((word) => word !== '')
    .join('-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, MAX_NAME_LENGTH);
  return isDefinitionName(name) ? name : undefined;
}

/** The claimable capabilities among those that a definition states: the valid ones, in their normal form, sorted (S0.5). */
export function capabilitiesOf({ capabilities = [] }: Pick<DefinitionContent, 'capabilities'>): string[] {
  const claimable = capabilities.filter((one) => capabilityFault(one) === undefined).map(normaliseCapability);
  return [...new Set(claimable.filter((one) => VALID_CAPABILITY.test(one)))].toSorted();
}

/** The maximum number of queued and running runs of an agent that rejects runs when it is busy. Null if there is no maximum. */
export function maxRunsOf({ whenBusy, maxConcurrency }: DefinitionContent): number | null {
  return whenBusy === 'reject' ? (maxConcurrency ?? null) : null;
}
