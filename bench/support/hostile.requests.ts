import { randomBytes } from 'node:crypto';

export interface HostileRequest {
  /** The finding that the request reproduces. */
  finding: string;
  bytes: Buffer;
}

export interface HostileKeys {
  agent: string;
  caller: string;
  viewer: string;
}

interface Request {
  method: string;
  path: string;
  bearer: string;
  body?: unknown;
}

const CAPABILITIES = 200;
const LEVELS = 16;
const UNKNOWN_FIELDS = 28_000;
const VARIANTS = 20;

/** The requests of the findings A1 to A8, serialised once. They have variants, so that no cached result is used. */
export function hostileRequests(host: string, keys: HostileKeys): HostileRequest[] {
  const make = (finding: string, request: Request): HostileRequest => ({ finding, bytes: serialise(host, request) });
  const fields = Object.fromEntries(
    Array.from({ length: UNKNOWN_FIELDS }, (_, index) => [`f${index.toString(36)}`, 1]),
  );
  return Array.from({ length: VARIANTS }, (_, variant): HostileRequest[] => [
    make('A1', {
      method: 'PATCH',
      path: '/v1/agents/nosuch',
      bearer: madeUpToken(),
      body: { generation: 1, capabilities: [`a${' '.repeat(120_000)}b`] },
    }),
    { finding: 'A2', bytes: Buffer.from(`GET /v1/nothing HTTP/1.1\r\n${upgrade(host)}\r\n`) },
    make('A3', { method: 'GET', path: '/v1/events/snapshot', bearer: keys.viewer }),
    make('A4', { method: 'POST', path: '/v1/agents', bearer: keys.agent, body: fields }),
    make('A5', {
      method: 'POST',
      path: '/v1/budgets/reservations',
      bearer: keys.caller,
      body: { key: `hostile-${variant}`, tokens: 1 },
    }),
    make('A5', {
      method: 'POST',
      path: `/v1/budgets/reservations/hostile-${variant}/settle`,
      bearer: keys.caller,
      body: { tokens: 1e12 },
    }),
    make('A6', { method: 'POST', path: '/v1/agents', bearer: keys.agent, body: deepAgent(variant) }),
    make('A7', {
      method: 'POST',
      path: `/v1/agents/victim/heartbeat`,
      bearer: madeUpToken(),
      body: { generation: 1 },
    }),
    make('A8', { method: 'GET', path: '/v1/events?after=0&limit=1000', bearer: keys.viewer }),
    make('A8', { method: 'GET', path: '/v1/events?after=0&agentIds=nobody', bearer: keys.viewer }),
  ]).flat();
}

function madeUpToken(): string {
  return `rl_${randomBytes(32).toString('base64url')}`;
}

function deepAgent(variant: number): Record<string, unknown> {
  const level = (capability: number): string =>
    Array.from({ length: LEVELS }, (_, depth) => `c${variant}x${capability}x${depth}`).join('.');
  const capabilities = Array.from({ length: CAPABILITIES }, (_, capability) => level(capability));
  return { name: `deep ${variant}`, capabilities };
}

function upgrade(host: string): string {
  return `Host: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`;
}

function serialise(host: string, { method, path, bearer, body }: Request): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body);
  const head = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${bearer}`];
  if (text) head.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`);
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`);
}
