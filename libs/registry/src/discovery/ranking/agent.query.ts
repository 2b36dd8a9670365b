/** An agent matches if it has all capabilities of `all`, at least one of `any`, and none of `none`. */
export interface CapabilitySets {
  all?: readonly string[];
  any?: readonly string[];
  none?: readonly string[];
}

export interface AgentFilter {
  provider?: { adapter?: string; type?: string; plan?: string };
  /** A number means exactly that level. */
  sandboxLevel?: number | { min?: number; max?: number };
  /** Upper limits for the two parts of a price, in US dollars. An agent with an unknown price does not match. */
  maxUsdPerTask?: number;
  maxUsdPer1kTokens?: number;
  /** Agents with an unlimited budget always match. */
  minRemainingTokens?: number;
  /** The agent has all these labels with these values. */
  labels?: Readonly<Record<string, string>>;
}

export interface AgentQuery {
  /** Only agents of this namespace are found; the default is `default`. */
  namespace?: string;
  /** A list means all of its capabilities. Without capabilities, all agents match. */
  capabilities?: readonly string[] | CapabilitySets;
  filter?: AgentFilter;
  /** The name of a strategy; the default is `cheapest`. */
  prefer?: string;
  limit?: number;
  /** Whether the result also lists the excluded agents, with the reasons and what would make them eligible. */
  explain?: boolean;
  /** With `explain`: an agentId. The result says where this agent is in the ranking, or why it is excluded. */
  about?: string;
  /** Whether similarly spelled capabilities match if no agent declares the requested one. */
  fuzzy?: boolean;
}

export const DEFAULT_LIMIT = 10;
export const MAX_LIMIT = 100;
export const MAX_CAPABILITIES = 32;
export const DEFAULT_STRATEGY = 'cheapest';
/** The value of `prefer` that selects an agent by an auction. It is not a strategy, because a strategy compares known facts. */
export const CONTRACT_NET = 'contract-net';
