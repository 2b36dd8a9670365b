/** Sets of capabilities: all of the first, at least one of the second, none of the third. */
export interface CapabilitySets {
  all?: readonly string[];
  any?: readonly string[];
  none?: readonly string[];
}

export interface AgentFilter {
  provider?: { adapter?: string; type?: string; plan?: string };
  /** A number is exactly that level. */
  sandboxLevel?: number | { min?: number; max?: number };
  /** Bounds on the two parts of a price, in US dollars. An agent whose price is unknown passes neither. */
  maxUsdPerTask?: number;
  maxUsdPer1kTokens?: number;
  /** Unlimited agents always have enough. */
  minRemainingTokens?: number;
  /** Each must be there with this value. */
  labels?: Readonly<Record<string, string>>;
}

export interface AgentQuery {
  /** A plain list means all of them. Without any, the whole fleet is asked. */
  capabilities?: readonly string[] | CapabilitySets;
  filter?: AgentFilter;
  /** The name of a strategy; `cheapest` unless told. */
  prefer?: string;
  limit?: number;
  /** Also say who was left out, why, and what would make it eligible. */
  explain?: boolean;
  /** Where nobody claims a capability, take the most similarly spelled ones. */
  fuzzy?: boolean;
}

export const DEFAULT_LIMIT = 10;
export const LARGEST_LIMIT = 100;
export const MAX_CAPABILITIES = 32;
export const DEFAULT_STRATEGY = 'cheapest';
