import type { AgentRecord } from '#rollcall/registry';

/** How an agent of the registry is called. */
export interface AgentAddress {
  readonly provider: 'a2a' | 'http';
  readonly url: string;
}

type Addressed = Pick<AgentRecord, 'endpoint' | 'agentCard'>;

/** An agent with a card is called over A2A, any other agent over HTTP. Undefined if the record has no usable URL. */
export function addressOf({ endpoint, agentCard }: Addressed): AgentAddress | undefined {
  const url = endpoint ?? (agentCard && urlOfCard(agentCard));
  if (!url || !URL.canParse(url)) return undefined;
  return { provider: agentCard ? 'a2a' : 'http', url };
}

/** Cards of version 1.0 list interfaces; older cards have one URL. */
function urlOfCard(card: Readonly<Record<string, unknown>>): string | undefined {
  const [first] = Array.isArray(card['supportedInterfaces']) ? (card['supportedInterfaces'] as unknown[]) : [];
  const { url = card['url'] } = (first ?? {}) as { url?: unknown };
  return typeof url === 'string' ? url : undefined;
}
