import type { Agent } from '#rollcall/providers';

/** Creates agents by name (S2.3). */
export interface AgentFactories {
  /** Sorted by name. */
  list(): readonly { readonly name: string; readonly description: string }[];
  spawn(name: string, depth: number): Promise<Agent>;
}
