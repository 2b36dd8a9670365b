import { A2A_PROTOCOL_VERSION, A2A_VERSION_HEADER, type AgentCard } from '@a2a-js/sdk';
import { A2A_LEGACY_PROTOCOL_VERSION } from '@a2a-js/sdk/compat/v0_3';
import { VersionNotSupportedError } from '@a2a-js/sdk/errors';
import { validateVersion } from '@a2a-js/sdk/server';
import type { FastifyRequest } from 'fastify';

export type Binding = 'JSONRPC' | 'HTTP+JSON';

const PATCH = /^(\d{1,3}\.\d{1,3})\.\d{1,9}$/;

/** A request that names no version uses version 0.3. */
export function protocolVersionOf(request: FastifyRequest): string {
  return namedVersion(request) ?? A2A_LEGACY_PROTOCOL_VERSION;
}

/** Reads the version from the header or from the query string. A patch number is ignored. */
export function namedVersion({ headers, query }: FastifyRequest): string | undefined {
  const given = headers[A2A_VERSION_HEADER.toLowerCase()] || (query as Record<string, unknown>)[A2A_VERSION_HEADER];
  if (typeof given !== 'string' || given === '') return undefined;
  return PATCH.exec(given)?.[1] ?? given;
}

export function isLegacy(request: FastifyRequest): boolean {
  return protocolVersionOf(request) === A2A_LEGACY_PROTOCOL_VERSION;
}

export function checkVersion(request: FastifyRequest, card: AgentCard, binding: Binding): void {
  if (namedVersion(request) === undefined && binding === 'HTTP+JSON') throw versionMissing();
  validateVersion(protocolVersionOf(request), card, binding);
}

/** Clients of version 0.3 need not name their version, but this version is offered only over JSON-RPC. */
function versionMissing(): VersionNotSupportedError {
  const message = `Send the header ${A2A_VERSION_HEADER}: ${A2A_PROTOCOL_VERSION}. A request without it uses version 0.3, which needs JSON-RPC.`;
  return new VersionNotSupportedError(message);
}
