import type { WantedModel } from '#rollcall/providers';

/** The provider of the agents that Rollcall runs itself. */
export const NATIVE = 'native';

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
  skills?: readonly { name: string; mode: 'preload' | 'catalog' }[];
  capabilities?: readonly string[];
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
  metadata?: Record<string, unknown>;
}

/** Where a definition comes from. */
export type DefinitionSource = 'code' | 'config' | 'rest' | 'file';

/** One immutable revision of a definition. */
export interface Definition {
  namespace: string;
  name: string;
  revision: number;
  content: DefinitionContent;
  source: DefinitionSource;
  hash: string;
  createdAt: string;
  createdBy: string;
}
