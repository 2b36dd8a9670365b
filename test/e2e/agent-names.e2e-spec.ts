import { AgentsService } from '#rollcall/registry';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { capabilityEdges, defineDelegators, type Meaning, nameEdges, OneWordAgent } from '../support/named-agents.js';

const PUBLIC = 'public';
const DESCRIPTION = 'The description that the operator wrote.';

let api: TestApi;
let other: TestApi;
let operator: string;
let attacker: string;
let caller: string;
let outside: OneWordAgent;
let thief: OneWordAgent;

beforeAll(async () => {
  const settings = { ROLLCALL_EGRESS_ALLOW: '127.0.0.1', ROLLCALL_HEARTBEAT_EVERY: '10m' };
  api = await startApi({ ...settings, ROLLCALL_CATALOG_LABEL: `${PUBLIC}=true` });
  other = await api.replica();
  [operator, attacker, caller] = await Promise.all([
    api.given.key('operator'),
    api.given.key('agent'),
    api.given.key('caller'),
  ]);
  [outside, thief] = await Promise.all([OneWordAgent.start('WORD-outside'), OneWordAgent.start('WORD-thief')]);
  await defineDelegators(api, [api, other]);
  await define('plain');
  await define('spawned');
  await spawn('spawned');
  await register('outside', outside.endpoint, { labels: { [PUBLIC]: 'true' } });
  await register('squatted', thief.endpoint, { labels: { [PUBLIC]: 'true' } }); // before the definition, as in an older database
  await define('squatted');
});
afterAll(async () => {
  await other.stop();
  await api.stop();
  outside.stop();
  thief.stop();
});

async function define(name: string): Promise<void> {
  const content = { description: DESCRIPTION, capabilities: [`can.${name}`] };
  expect((await api.call('POST', '/v1/definitions', { key: operator, body: { name, content } })).status).toBe(201);
}

async function spawn(definition: string): Promise<Answer> {
  return await api.call('POST', '/v1/runtime/agents', { key: operator, body: { definition } });
}

const registration = (agentId: string, endpoint: string, more: object = {}): object => ({
  agentId,
  name: 'An agent',
  endpoint,
  capabilities: [`can.${agentId}`],
  ...more,
});

async function register(agentId: string, endpoint: string, more: object = {}, key = attacker): Promise<Answer> {
  return await api.call('POST', '/v1/agents', { key, body: registration(agentId, endpoint, more) });
}

/** What each kind of name means. */
const KINDS: Record<string, Meaning> = {
  plain: 'definition',
  spawned: 'definition',
  squatted: 'definition',
  outside: 'WORD-outside',
  nobody: 'unknown',
};

const EDGES = [
  'POST /v1/runs {agent}',
  'POST /v1/runs {definition}',
  'A2A, in the path',
  'A2A, as the tenant',
  'MCP run_agent',
  'MCP, in the path',
  'a delegation',
];

describe('the name of an agent', () => {
  it.each(EDGES)(
    'S-1 %s: each kind of name means the same agent, or the same refusal, on both replicas',
    async (title) => {
      for (const replica of [api, other]) {
        const edge = nameEdges(replica, caller).find((one) => one.title === title);
        const actual: Record<string, unknown> = {};
        const wanted: Record<string, unknown> = {};
        for (const [name, meaning] of Object.entries(KINDS)) {
          actual[name] = await edge?.use(name);
          wanted[name] = edge?.onlyDefinitions && meaning !== 'definition' ? 'unknown' : meaning;
        }
        expect(actual).toEqual(wanted);
      }
    },
  );

  it('S-1 an agent with the name of a definition gets no work by capability and no invitation to a contract', async () => {
    const used = await Promise.all(
      capabilityEdges(api, caller).map(async ({ title, use }) => [title, await use('squatted')]),
    );
    expect(Object.fromEntries(used)).toEqual({
      'POST /v1/runs {capabilities}': 'unavailable',
      'a delegation by capability': 'definition',
      'a contract': 'unavailable',
    });
  });

  it('S-1 the card of the name has the facts of the definition, and the catalogs do not list another agent of this name', async () => {
    const { body: card } = await api.call('GET', '/a2a/agents/squatted', { key: caller });
    expect(card).toMatchObject({ name: 'squatted', description: DESCRIPTION, version: '1' });
    expect(JSON.stringify(card)).not.toContain('An agent');
    const { body: outsiders } = await api.call('GET', '/a2a/agents/outside', { key: caller });
    expect(JSON.stringify(outsiders)).not.toContain(DESCRIPTION);
    const { body: catalog } = await api.call('GET', '/.well-known/ard.json', { key: null });
    expect(JSON.stringify(catalog)).toContain('outside');
    expect(JSON.stringify(catalog)).not.toContain('squatted');
  });
});

const card = (agentId: string): object => ({
  identifier: agentId,
  displayName: 'An agent',
  type: 'application/a2a-agent-card+json',
  data: {
    name: 'An agent',
    description: 'Steals.',
    version: '1.0.0',
    supportedInterfaces: [{ url: thief.endpoint, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    skills: [{ id: 'steal', name: 'Steal', description: 'Steals.', tags: [] }],
  },
});

/** Every way to register an agent. Each returns the problem of the response. */
const DOORS: Record<string, (agentId: string) => Promise<unknown>> = {
  'POST /v1/agents': async (agentId) => (await register(agentId, thief.endpoint)).body,
  'POST /v1/agents with an Idempotency-Key': async (agentId) => {
    const headers = { 'idempotency-key': crypto.randomUUID() };
    return (
      await api.call('POST', '/v1/agents', { key: attacker, headers, body: registration(agentId, thief.endpoint) })
    ).body;
  },
  'POST /v1/agents/batch': async (agentId) => {
    const body = { agents: [registration(agentId, thief.endpoint)] };
    const answer = await api.call<{ results: { problem?: unknown }[] }>('POST', '/v1/agents/batch', {
      key: attacker,
      body,
    });
    return answer.body.results[0]?.problem;
  },
  'POST /v1/agent-imports': async (agentId) => {
    const body = { catalog: { entries: [card(agentId)] } };
    const answer = await api.call<{ entries: { problem?: unknown }[] }>('POST', '/v1/agent-imports', {
      key: attacker,
      body,
    });
    return answer.body.entries[0]?.problem;
  },
  'the skill register of A2A': async (agentId) => {
    const data = { skill: 'register', input: registration(agentId, thief.endpoint) };
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ data }] };
    const key = await api.issueKeyIn('default', 'agent', 'caller');
    const answer = await api.call('POST', '/a2a/message:send', {
      key,
      headers: { 'a2a-version': '1.0' },
      body: { message },
    });
    const { error } = answer.body as { error?: { details?: { reason?: string }[]; message?: string } };
    return { code: error?.details?.[0]?.reason, detail: error?.message };
  },
};

describe('the names of definitions', () => {
  it.each(Object.keys(DOORS))('S-1 %s: are reserved, whether or not the definition is spawned', async (door) => {
    for (const agentId of ['plain', 'boss'])
      expect(await DOORS[door]?.(agentId)).toMatchObject({
        code: 'AGENT_NAME_RESERVED',
        detail: expect.stringContaining('Choose another agentId'),
      });
    expect((await api.call('GET', '/v1/agents/plain')).status).toBe(404);
  });

  it('S-1 an agent that registered before its name became a definition cannot register again, and gets the reason', async () => {
    const first = await register('early', thief.endpoint);
    await define('early');
    const { leaseToken, generation } = first.body;
    expect(await register('early', thief.endpoint, { leaseToken })).toMatchObject({
      status: 409,
      body: { code: 'AGENT_NAME_RESERVED' },
    });
    const patch = { generation, endpoint: thief.endpoint, agentCard: { name: 'early', description: 'Steals.' } };
    await api.call('PATCH', '/v1/agents/early', { key: attacker, body: patch });
    const edges = nameEdges(api, caller);
    const meanings = await Promise.all(edges.map(async ({ use }) => await use('early')));
    expect(new Set(meanings)).toEqual(new Set(['definition']));
    expect(JSON.stringify((await api.call('GET', '/a2a/agents/early', { key: caller })).body)).not.toContain('Steals.');
  });

  it('S-1 an operator may register an agent under the name of a definition, which keeps the name', async () => {
    await define('shared');
    expect((await register('shared', thief.endpoint, {}, operator)).status).toBe(201);
    expect(await nameEdges(api, caller)[0]?.use('shared')).toBe('definition');
  });

  it('S-1 the operator that spawns an agent becomes the owner of its name', async () => {
    const { body } = await register('once', thief.endpoint);
    const { leaseToken, generation } = body;
    await api.call('DELETE', `/v1/agents/once?generation=${String(generation)}`, { key: String(leaseToken) });
    await define('once');
    expect((await spawn('once')).status).toBe(201);
    const { owner } = (await api.call('GET', '/v1/agents/once')).body;
    expect(owner).toBe(`key:${operator.split('_')[1]}`);
    for (const request of [
      register('once', thief.endpoint, { takeover: true }),
      register('once', thief.endpoint, { leaseToken }),
      api.call('PATCH', '/v1/agents/once', { key: attacker, body: { endpoint: thief.endpoint } }),
      api.call('DELETE', '/v1/agents/once', { key: attacker }),
    ])
      expect((await request).status).toBeGreaterThanOrEqual(400);
    expect(await nameEdges(api, caller)[0]?.use('once')).toBe('definition');
  });

  it('S-1 if a definition and an agent get the same name at the same time, the name means the definition', async () => {
    for (let round = 0; round < 10; round++) {
      const name = `raced-${round}`;
      const work = [
        async () => await define(name),
        async () => {
          const { status, body } = await register(name, thief.endpoint);
          expect(status === 201 || body['code'] === 'AGENT_NAME_RESERVED').toBe(true);
        },
      ];
      await Promise.all((round % 2 === 0 ? work : work.toReversed()).map(async (one) => await one()));
      expect(await nameEdges(round % 2 === 0 ? api : other, caller)[0]?.use(name)).toBe('definition');
      expect(await register(name, thief.endpoint, { takeover: true })).toMatchObject({
        body: { code: 'AGENT_NAME_RESERVED' },
      });
    }
  });
});

describe('an agent that an operator has withdrawn', () => {
  /** What every edge answers, by name and by capability. */
  const used = async (replica: TestApi, name: string): Promise<Record<string, Meaning>> => {
    const edges = [...nameEdges(replica, caller), ...capabilityEdges(replica, caller)];
    const isExternal = name.startsWith('external');
    const answers = await Promise.all(
      edges
        .filter((one) => !(isExternal && one.onlyDefinitions))
        .map(async ({ title, use }) => [title, await use(name)]),
    );
    return Object.fromEntries(answers) as Record<string, Meaning>;
  };

  it.each([
    ['spawned-draining', 'drain'],
    ['spawned-quarantined', 'quarantine'],
    ['external-draining', 'drain'],
    ['external-quarantined', 'quarantine'],
  ])('R-4 %s gets no work on any edge of any replica, and gets work again when it is resumed', async (name, action) => {
    const isExternal = name.startsWith('external');
    if (isExternal) await register(name, outside.endpoint);
    else {
      await define(name);
      expect((await spawn(name)).status).toBe(201);
    }
    const working = isExternal ? 'WORD-outside' : 'definition';
    expect(await nameEdges(api, caller)[0]?.use(name)).toBe(working);
    expect((await api.call('POST', `/v1/agents/${name}/${action}`, { key: operator, body: {} })).status).toBe(200);
    expect(new Set(Object.values(await used(api, name)))).toEqual(new Set(['unavailable'])); // at once on this replica
    await until('the other replica knows it', async () =>
      Object.values(await used(other, name)).every((answer) => answer === 'unavailable'),
    );
    await api.call('POST', `/v1/agents/${name}/resume`, { key: operator, body: {} });
    expect(await nameEdges(api, caller)[0]?.use(name)).toBe(working);
  });

  it('R-4 keeps its state as a definition after it was shut down', async () => {
    await define('paused');
    expect((await spawn('paused')).status).toBe(201);
    await api.call('POST', '/v1/agents/paused/quarantine', { key: operator, body: {} });
    await api.call('DELETE', '/v1/runtime/agents/paused', { key: operator });
    for (const replica of [api, other]) {
      const meanings = await Promise.all(nameEdges(replica, caller).map(async ({ use }) => await use('paused')));
      expect(new Set(meanings)).toEqual(new Set(['unavailable']));
    }
  });

  it('R-4 a start directly after the response to a withdrawal is always refused on the same replica', async () => {
    await register('flip', outside.endpoint);
    const [edge] = nameEdges(api, caller);
    for (let round = 0; round < 10; round++) {
      await api.call('POST', '/v1/agents/flip/drain', { key: operator, body: {} });
      expect(await edge?.use('flip')).toBe('unavailable');
      await api.call('POST', '/v1/agents/flip/resume', { key: operator, body: {} });
      expect(await edge?.use('flip')).toBe('WORD-outside');
    }
    expect((await api.app.nest.get(AgentsService, { strict: false }).get('flip')).desiredState).toBe('active');
  });
});
