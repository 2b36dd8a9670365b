import { AgentCard } from '@a2a-js/sdk';
import { defaultServerCallContextBuilder, UnauthenticatedUser, type A2ARequestHandler } from '@a2a-js/sdk/server';
import type { ServerResponse } from 'node:http';
import type { RecordedRequest } from '../local-server.js';

/** One protocol binding of an A2A server. */
export interface A2aWire {
  name: string;
  card(options: { url: string; streaming: boolean }): AgentCard;
  cardJson(card: AgentCard): unknown;
  serve(handler: A2ARequestHandler): (request: RecordedRequest, response: ServerResponse) => Promise<unknown>;
}

export function cardFor(url: string, streaming: boolean, protocolBinding: string, protocolVersion = '1.0'): AgentCard {
  return AgentCard.fromJSON({
    name: 'fake',
    description: 'Executes the scenario in its message',
    version: '1.0.0',
    capabilities: { streaming },
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'scenario', name: 'Scenario', description: 'Executes a scenario', tags: ['test'] }],
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
