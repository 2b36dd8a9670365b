import type { Role } from '../../apps/api/src/auth/permissions.js';
import { startApi, type TestApi } from '../support/api.js';
import { registrationBody } from '../support/given.js';

let api: TestApi;
beforeAll(async () => void (api = await startApi()));
afterAll(async () => await api.stop());

interface Attempt {
  method: string;
  path: string;
  body?: object;
}

const ATTEMPTS = {
  register: { method: 'POST', path: '/v1/agents', body: registrationBody() },
  read: { method: 'GET', path: '/v1/agents/used' },
  query: { method: 'POST', path: '/v1/agents/query', body: { capabilities: ['build'] } },
  explain: { method: 'POST', path: '/v1/agents/query', body: { capabilities: ['build'], explain: true } },
  outcome: { method: 'POST', path: '/v1/agents/used/outcomes', body: { ok: true } },
  probe: { method: 'POST', path: '/v1/agents/used/probe', body: { probeId: 'p-1' } },
  reserve: { method: 'POST', path: '/v1/budgets/reservations', body: { key: 'r-1', tokens: 1 } },
  models: { method: 'GET', path: '/v1/models' },
  events: { method: 'GET', path: '/v1/events' },
  drain: { method: 'POST', path: '/v1/agents/used/drain' },
  keys: { method: 'GET', path: '/v1/keys' },
} satisfies Record<string, Attempt>;
type Action = keyof typeof ATTEMPTS;

/** Returns the actions that are allowed for a key with these roles, sorted. */
async function allowedTo(...roles: Role[]): Promise<Action[]> {
  await api.call('POST', '/v1/agents', { body: registrationBody({ agentId: 'used' }) });
  const key = await api.given.key(...roles);
  const allowed: Action[] = [];
  for (const [action, { method, path, ...rest }] of Object.entries(ATTEMPTS) as [Action, Attempt][]) {
    const { status, body } = await api.call(method, path, { key, ...rest });
    if (status < 300) allowed.push(action);
    else expect({ action, status, code: body['code'] }).toEqual({ action, status: 403, code: 'FORBIDDEN' });
  }
  return allowed.toSorted();
}

describe('the roles', () => {
  it('A10 S3.13 M-11 an agent registers and queries its peers, but neither reports outcomes nor spends without an agent or run of its own', async () => {
    expect(await allowedTo('agent')).toEqual(['explain', 'query', 'read', 'register']);
  });

  it('a caller queries, reports outcomes, probes and reserves, but does not register agents', async () => {
    expect(await allowedTo('caller')).toEqual(['explain', 'models', 'outcome', 'probe', 'query', 'read', 'reserve']);
  });

  it('a viewer queries, but does not report or spend', async () => {
    expect(await allowedTo('viewer')).toEqual(['events', 'explain', 'models', 'query', 'read']);
  });

  it('a key with the roles agent and caller has the permissions of both', async () => {
    const both = [...new Set([...(await allowedTo('agent')), ...(await allowedTo('caller'))])];
    expect(await allowedTo('agent', 'caller')).toEqual(both.toSorted());
  });

  it('an operator has all permissions of a caller', async () => {
    expect(await allowedTo('operator')).toEqual(expect.arrayContaining(await allowedTo('caller')));
  });
});

describe('the budget of a caller', () => {
  it('is reserved only by the principal it belongs to', async () => {
    const key = await api.given.key('caller');
    const { body: me } = await api.call<{ id: string }>('GET', '/v1/me', { key });
    await api.given.budget({ kind: 'caller', subject: me.id, limit: { tokens: 5 } });
    const reserve = async (by: string, body: object): Promise<number> =>
      (await api.call('POST', '/v1/budgets/reservations', { key: by, body })).status;
    const other = await api.given.key('caller');
    expect(await reserve(other, { key: 'other', tokens: 6 })).toBe(201);
    expect(await reserve(other, { key: 'named', tokens: 1, callerId: me.id })).toBe(400);
    expect(await reserve(key, { key: 'own', tokens: 5 })).toBe(201);
    expect(await reserve(key, { key: 'more', tokens: 1 })).toBe(402);
  });
});
