import { A2A_PROTOCOL_VERSION, AgentCard, type AgentSkill } from '@a2a-js/sdk';
import { A2A_LEGACY_PROTOCOL_VERSION } from '@a2a-js/sdk/compat/v0_3';
import { LegacyRestTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { type A2ARequestHandler, ServerCallContext } from '@a2a-js/sdk/server';
import { RUN_EXTENSION } from '#rollcall/providers';

const SCHEME = 'bearer';
const ABOUT_EXTENSION =
  'Cards: price, health and load of the agent. Tasks: the agent, the state and the usage of the run. See docs/a2a.md.';

interface CardFacts {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** The URL of both bindings, JSON-RPC and HTTP+JSON. */
  readonly url: string;
  readonly skills: readonly AgentSkill[];
  /** The parameters of the extension of Rollcall. */
  readonly live?: Record<string, unknown>;
}

export function cardOf({ name, description, version, url, skills, live }: CardFacts): AgentCard {
  return AgentCard.fromJSON({
    name,
    description,
    version,
    supportedInterfaces: [
      { url, protocolBinding: 'JSONRPC', protocolVersion: A2A_PROTOCOL_VERSION },
      { url, protocolBinding: 'HTTP+JSON', protocolVersion: A2A_PROTOCOL_VERSION },
      { url, protocolBinding: 'JSONRPC', protocolVersion: A2A_LEGACY_PROTOCOL_VERSION },
    ],
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: true,
      extensions: [{ uri: RUN_EXTENSION, description: ABOUT_EXTENSION, params: live }],
    },
    securitySchemes: {
      [SCHEME]: { httpAuthSecurityScheme: { scheme: 'Bearer', description: 'An API key of Rollcall, or a JWT.' } },
    },
    securityRequirements: [{ schemes: { [SCHEME]: { list: ['runs:start'] } } }],
    defaultInputModes: ['text/plain', 'application/json', 'application/octet-stream'],
    defaultOutputModes: ['text/plain', 'application/json', 'application/octet-stream'],
    skills,
  });
}

export function skill(id: string, name: string, description: string, tags: readonly string[]): AgentSkill {
  return {
    id,
    name,
    description,
    tags: [...tags],
    examples: [],
    inputModes: [],
    outputModes: [],
    securityRequirements: [],
  };
}

/** One skill for each capability. Without capabilities, the agent has one general skill. */
export function skillsOf(capabilities: readonly string[], agent: { name: string; description: string }): AgentSkill[] {
  if (capabilities.length === 0) return [skill('general', agent.name, agent.description, ['agent'])];
  return capabilities.map((one) => skill(one, one, `Work that needs the capability ${one}.`, one.split('.')));
}

/**
 * The card for clients of both versions: `card` is the form of version 1.0, and gets the fields that only version 0.3 has. A client ignores the
 * fields that it does not know.
 */
export function mergedCard(card: unknown, legacy: unknown): unknown {
  if (Array.isArray(card) && Array.isArray(legacy))
    return card.length === legacy.length ? card.map((one, index) => mergedCard(one, legacy[index])) : card;
  if (!isObject(card) || !isObject(legacy)) return card;
  const both = Object.entries(card).map(([name, value]) => [name, mergedCard(value, legacy[name])]);
  return { ...legacy, ...Object.fromEntries(both) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The card in the form of version 0.3. The SDK exports its conversion only as a part of the transport of that version. */
export async function toLegacyCard(card: AgentCard): Promise<object> {
  const source: Pick<A2ARequestHandler, 'getAuthenticatedExtendedAgentCard'> = {
    getAuthenticatedExtendedAgentCard: async () => await Promise.resolve(card),
  };
  const transport = new LegacyRestTransportHandler(source as A2ARequestHandler);
  return await transport.getAuthenticatedExtendedAgentCard(new ServerCallContext());
}
