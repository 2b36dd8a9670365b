import { createHash } from 'node:crypto';
import { DEFAULT_NAMESPACE } from '#rollcall/platform';

/** The facts that determine the identifier of an agent. */
export interface NamedAgent {
  readonly namespace: string;
  readonly agentId: string;
}

const IDENTIFIER = /^urn:air:[A-Za-z0-9.-]+(?::[A-Za-z0-9._-]+)+$/;
const MAX_IDENTIFIER_LENGTH = 300;
/** Matches an agentId that can be one segment of an identifier. Any other agentId contains colons. */
const SEGMENT = /^[A-Za-z0-9._-]+$/;
const HASH_LENGTH = 16;

/** Whether a text has the form of an identifier of ARD 0.91, `urn:air:{publisher}:{namespace}:{name}`. */
export function isIdentifier(text: string): boolean {
  return text.length <= MAX_IDENTIFIER_LENGTH && IDENTIFIER.test(text);
}

/** The domain in an identifier. */
export function publisherOf(identifier: string): string {
  return identifier.split(':')[2] ?? '';
}

/** The host of a URL as a publisher. An IPv6 address cannot be part of an identifier, so it becomes `localhost`. */
export function publisherAt(url: string): string {
  const { hostname } = new URL(url);
  return /^[A-Za-z0-9.-]+$/.test(hostname) ? hostname : 'localhost';
}

/**
 * The names of catalog entries. This is the only place that creates them, because the grammar of identifiers is still changing. Two
 * agents never have the same name: a namespace other than `default` is part of the kind, and for an agentId with colons, a hash is
 * added as a further segment.
 */
export class CatalogNames {
  constructor(readonly publisher: string) {}

  /** The identifier of something that is not an agent of the registry: `urn:air:example.com:registry:rollcall`. */
  identifierOf(kind: string, name: string): string {
    return `urn:air:${this.publisher}:${kind}:${name}`;
  }

  /** `urn:air:example.com:agent:builder`, or `urn:air:example.com:agent.team-a:builder` in the namespace `team-a`. */
  agentIdentifier({ namespace, agentId }: NamedAgent): string {
    const kind = namespace === DEFAULT_NAMESPACE ? 'agent' : `agent.${namespace}`;
    return SEGMENT.test(agentId)
      ? this.identifierOf(kind, agentId)
      : this.identifierOf(kind, `${readable(agentId)}:${hashOf(agentId)}`);
  }

  /** The name of an MCP server, with the reversed domain: `com.example/rollcall`. */
  serverName(name: string): string {
    return `${this.reversed}/${name}`;
  }

  /** `com.example.agents/builder`, or `com.example.agents.team-a/builder` in the namespace `team-a`. */
  agentServerName({ namespace, agentId }: NamedAgent): string {
    const isPlain = SEGMENT.test(agentId);
    const suffix = namespace === DEFAULT_NAMESPACE ? '' : `.${namespace}`;
    const name = isPlain ? agentId : `${readable(agentId)}.${hashOf(agentId)}`;
    return `${this.reversed}.${isPlain ? 'agents' : 'agent-ids'}${suffix}/${name}`;
  }

  private get reversed(): string {
    return this.publisher.split('.').toReversed().join('.');
  }
}

function readable(agentId: string): string {
  return agentId.replaceAll(':', '-');
}

function hashOf(agentId: string): string {
  return createHash('sha256').update(agentId).digest('hex').slice(0, HASH_LENGTH);
}
