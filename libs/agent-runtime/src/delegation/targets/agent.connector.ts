import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { type Agent, Keyring } from '#rollcall/providers';
import type { AgentRecord } from '#rollcall/registry';
import { GuardedAgents } from '../../calls/guarded.agent.js';
import type { DelegationTarget } from './delegation.targets.js';

/** How an agent of the registry is called. */
type AgentAddress = { readonly provider: 'a2a' | 'http'; readonly url: string } | { readonly provider: 'pull' };

type Addressed = Pick<AgentRecord, 'endpoint' | 'agentCard' | 'work'>;

/**
 * An agent that takes tasks needs no URL. An agent with a card is called over A2A, any other agent over HTTP. Undefined if the record has no
 * usable URL.
 */
export function addressOf({ endpoint, agentCard, work }: Addressed): AgentAddress | undefined {
  if (work === 'pull') return { provider: 'pull' };
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

/** An agent of the registry that can be called until `release`. */
interface Connection {
  readonly agent: Agent;
  /** Whether an interrupted call may be sent again. */
  readonly isIdempotent: boolean;
  /** Set if the agent takes its tasks. */
  readonly pull?: DelegationTarget['pull'];
  release(): Promise<void>;
}

interface Entry {
  readonly agent: Agent;
  /** Identifies the generation and the address. If it changes, a new entry replaces this one. */
  readonly version: string;
  users: number;
  isReplaced: boolean;
}

const MAX_IDLE = 1_000;

/** An agent declares it with its registration, or, as before version 0.2, with a label. */
function isIdempotent({ idempotent, labels }: Pick<AgentRecord, 'idempotent' | 'labels'>): boolean {
  return idempotent || labels['idempotent'] === 'true';
}

/**
 * Connects to agents of the live registry, each through its circuit. A connection is kept for the next call. When the agent registers
 * again or changes its address, a new connection replaces the old one, which is closed after its last call. A key is sent only to the
 * origins that the operator allows for it.
 */
@Injectable()
export class AgentConnector implements OnApplicationShutdown {
  /** By qualified id, the most recently used last. */
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly agents: GuardedAgents,
    private readonly keys: Keyring,
  ) {}

  /** Undefined if the record has no URL. */
  connect(record: AgentRecord): Connection | undefined {
    const address = addressOf(record);
    if (!address) return undefined;
    const entry = this.entryOf(record, address);
    entry.users += 1;
    let isReleased = false;
    const release = async (): Promise<void> => {
      if (isReleased) return;
      isReleased = true;
      entry.users -= 1;
      await closeIfUnused(entry);
    };
    const pull = { agentId: qualifiedId(record.namespace, record.agentId) };
    const isPull = address.provider === 'pull';
    return { agent: entry.agent, isIdempotent: isIdempotent(record), release, ...(isPull && { pull }) };
  }

  async onApplicationShutdown(): Promise<void> {
    const all = [...this.entries.values()];
    this.entries.clear();
    await Promise.all(all.map(async ({ agent }) => await agent.shutdown()));
  }

  private entryOf(record: AgentRecord, address: AgentAddress): Entry {
    const id = qualifiedId(record.namespace, record.agentId);
    const version = JSON.stringify([record.generation, address]);
    const known = this.entries.get(id);
    this.entries.delete(id); // the entry moves to the end of the map, which is ordered by last use
    const entry = known?.version === version ? known : this.open(id, address, version);
    if (known && known !== entry) replace(known);
    this.entries.set(id, entry);
    this.limit();
    return entry;
  }

  private open(id: string, address: AgentAddress, version: string): Entry {
    if (address.provider === 'pull')
      return { agent: this.agents.createPulling(id), version, users: 0, isReplaced: false };
    const { provider, url } = address;
    const env = this.keys.credentialFor(new URL(url).origin);
    const settings = env === undefined ? { url } : { url, credential: { env } };
    const agent = this.agents.createLazily(id, provider, { name: id, settings });
    return { agent, version, users: 0, isReplaced: false };
  }

  private limit(): void {
    if (this.entries.size <= MAX_IDLE) return;
    const [id, entry] = [...this.entries].find(([, { users }]) => users === 0) ?? [];
    if (id === undefined || !entry) return;
    this.entries.delete(id);
    replace(entry);
  }
}

function replace(entry: Entry): void {
  entry.isReplaced = true;
  void closeIfUnused(entry).catch(() => undefined); // the agent is not used any more
}

async function closeIfUnused({ agent, users, isReplaced }: Entry): Promise<void> {
  if (isReplaced && users === 0) await agent.shutdown();
}
