import { AgentCard } from '@a2a-js/sdk';
import { defaultServerCallContextBuilder, UnauthenticatedUser, type A2ARequestHandler } from '@a2a-js/sdk/server';
import type { ServerResponse } from 'node:http';
import type { RecordedRequest } from '../local-server.js';

/** How an A2A server writes things down. */
export interface A2aWire {
  name: string;
  card(facts: { url: string; streaming: boolean }): AgentCard;
  cardJson(card: AgentCard): unknown;
  serve(handler: A2ARequestHandler): (request: RecordedRequest, response: ServerResponse) => Promise<unknown>;
}

export function cardFor(url: string, streaming: boolean, protocolBinding: string, protocolVersion = '1.0'): AgentCard {
  return AgentCard.fromJSON({
    name: 'obedient',
    description: 'Does what it is told',
    version: '1.0.0',
    capabilities: { streaming },
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    supportedInterfaces: [{ url, protocolBinding, protocolVersion }],
  });
}

export function contextOf({ headers }: RecordedRequest, requestedVersion = String(headers['a2a-version'])) {
  return defaultServerCallContextBuilder({
    extensions: [],
    user: new UnauthenticatedUser(),
    headers,
    requestedVersion,
  });
}
