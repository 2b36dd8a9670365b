import { startApi, type TestApi } from '../support/api.js';
import type { Answer, CallOptions } from '../support/call.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi({ ROLLCALL_SKILLS_DIR: 'examples/skills' });
});
afterAll(async () => await api.stop());

const PATH = '/v1/definitions';
const CONTENT = { description: 'Reviews code.', instructions: 'Review.' };
const register = async (name: string, content: object = {}, options: CallOptions = {}): Promise<Answer> =>
  await api.call('POST', PATH, { body: { name, content: { ...CONTENT, ...content } }, ...options });
const replace = async (name: string, content: object, headers: Record<string, string> = {}): Promise<Answer> =>
  await api.call('PUT', `${PATH}/${name}`, { body: { content: { ...CONTENT, ...content } }, headers });

describe('/v1/definitions', () => {
  it('S0.1 S4.1 registers a definition once, and returns all problems of an invalid one', async () => {
    expect(await register('reviewer')).toMatchObject({
      status: 201,
      body: { name: 'reviewer', namespace: 'default', revision: 1, source: 'rest', content: CONTENT },
    });
    expect(await register('reviewer')).toMatchObject({ status: 409, body: { code: 'DEFINITION_EXISTS' } });
    expect(await register('')).toMatchObject({ status: 400, body: { code: 'DEFINITION_NAME_INVALID' } });
    expect(await register('My Reviewer')).toMatchObject({ status: 400, body: { proposed: 'my-reviewer' } });
    const { status, body } = await register('other', { tools: ['clok'], model: 'absent' });
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { code: 'DEFINITION_INVALID', errors: [{ field: 'model' }, { field: 'tools' }] },
    });
    expect(JSON.stringify(body)).toContain('did you mean clock?');
    expect((await api.call('GET', `${PATH}/other`)).body).toMatchObject({ code: 'DEFINITION_NOT_FOUND' });
  });

  it('S0.1 a repetition with the same Idempotency-Key returns the first response', async () => {
    const headers = { 'idempotency-key': 'one' };
    const first = await register('repeated', {}, { headers });
    expect((await register('repeated', {}, { headers })).body).toEqual(first.body);
  });

  it('S0.2 replaces a definition, if it has the expected revision, and lists and compares its revisions', async () => {
    await register('changing');
    expect(await replace('changing', { maxIterations: 5 }, { 'if-match': '"1"' })).toMatchObject({
      status: 200,
      body: { revision: 2 },
    });
    expect(await replace('changing', {}, { 'if-match': '"1"' })).toMatchObject({
      status: 412,
      body: { code: 'DEFINITION_CHANGED', revision: 2 },
    });
    expect(await replace('changing', {}, { 'if-match': '1' })).toMatchObject({ status: 400 });
    expect(await replace('absent', {})).toMatchObject({ status: 404, body: { code: 'DEFINITION_NOT_FOUND' } });
    const { body } = await api.call('GET', `${PATH}/changing/revisions?limit=1`);
    expect(body).toMatchObject({ items: [{ revision: 2 }] });
    const next = await api.call('GET', `${PATH}/changing/revisions?cursor=${String(body['nextCursor'])}`);
    expect(next.body).toMatchObject({ items: [{ revision: 1 }], nextCursor: null });
    expect((await api.call('GET', `${PATH}/changing/revisions/1`)).body).toMatchObject({ content: CONTENT });
    expect((await api.call('GET', `${PATH}/changing/diff?from=1&to=2`)).body).toEqual({
      changes: [{ field: 'maxIterations', after: 5 }],
    });
  });

  it('S0.5 lists definitions by name in pages, only those of the namespace, and returns capabilities', async () => {
    await api.call('POST', '/v1/namespaces', { body: { name: 'team-a' } });
    const options = { headers: { 'rollcall-namespace': 'team-a' } };
    for (const name of ['b', 'a']) await register(name, { capabilities: ['Test', 'code', 'a,b'] }, options);
    const { body } = await api.call('GET', `${PATH}?limit=1`, options);
    expect(body).toMatchObject({ items: [{ name: 'a', capabilities: ['code', 'test'] }] });
    const next = await api.call('GET', `${PATH}?cursor=${String(body['nextCursor'])}`, options);
    expect(next.body).toMatchObject({ items: [{ name: 'b' }], nextCursor: null });
    expect((await api.call('GET', `${PATH}/a/capabilities`, options)).body).toEqual({
      capabilities: ['code', 'test'],
    });
    expect((await api.call('GET', `${PATH}/a`)).status).toBe(404);
    expect((await api.call('DELETE', '/v1/namespaces/team-a')).body).toMatchObject({ contains: { definitions: 2 } });
  });

  it('S0.6 S0.7 removes a definition, but not one of the deployment; changes are in the audit log', async () => {
    await register('leaving');
    expect((await api.call('DELETE', `${PATH}/leaving`)).status).toBe(204);
    expect((await api.call('DELETE', `${PATH}/leaving`)).status).toBe(404);
    await register('configured');
    await api.database.db.query(`UPDATE definition_revision SET source = 'config' WHERE name = 'configured'`);
    const refused = { status: 409, body: { code: 'DEFINITION_CONFIGURED' } };
    expect(await api.call('DELETE', `${PATH}/configured`)).toMatchObject(refused);
    expect(await replace('configured', { maxIterations: 1 })).toMatchObject(refused);
    const { body } = await api.call<{ items: { action: string }[] }>('GET', '/v1/audit');
    const actions = body.items.map(({ action }) => action);
    expect(actions).toEqual(expect.arrayContaining(['definition.registered', 'definition.unregistered']));
  });

  it('S4.7 explains which model, tools, skills, limits and budgets a definition uses', async () => {
    const content = {
      tools: ['clock', 'recall', 'activate_skill'],
      disallowedTools: ['recall'],
      skills: [{ name: 'release-notes' }],
      budget: { tokens: 1_000 },
    };
    await register('explained', content);
    const limit = { tokens: 500, microUsd: null };
    await api.call('POST', '/v1/budgets', { body: { kind: 'agent', subject: 'explained', limit: { tokens: 500 } } });
    const { body } = await api.call('GET', `${PATH}/explained/effective`);
    expect(body).toMatchObject({
      provider: 'native',
      model: { rule: 'default' },
      tools: [
        { name: 'clock', origin: 'clock' },
        { name: 'activate_skill', origin: 'skills' },
      ],
      skills: [{ name: 'release-notes', mode: 'catalog', tokens: expect.any(Number) as number }],
      limits: { maxIterations: 20, maxDelegationDepth: 3, maxConcurrency: null, whenBusy: 'queue' },
    });
    expect(body['budgets']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'run', subject: null, limit: { tokens: 1_000, microUsd: null } }) as object,
        expect.objectContaining({ kind: 'agent', subject: 'explained', limit, remaining: limit }) as object,
      ]),
    );
    const toolsOf = async (more: object): Promise<string[]> => {
      const answer = await api.call<{ tools: { name: string; origin: string }[] }>('POST', `${PATH}/effective`, {
        body: { name: 'lead', content: { ...CONTENT, tools: ['clock', 'spawn_subagent', 'list_agents'], ...more } },
      });
      return answer.body.tools.map(({ name, origin }) => `${name} of ${origin}`);
    };
    const delegating = ['clock of clock', 'list_agents of delegation', 'spawn_subagent of delegation'];
    expect(await toolsOf({})).toEqual(delegating);
    expect(await toolsOf({ disallowedTools: ['list_agents'] })).toEqual(delegating.toSpliced(1, 1));
    expect(await toolsOf({ subagents: [] })).toEqual(['clock of clock']);
    expect(await toolsOf({ maxDelegationDepth: 0 })).toEqual(['clock of clock']);
    const preview = { name: 'unsaved', content: { ...CONTENT, tools: [] } };
    expect((await api.call('POST', `${PATH}/effective`, { body: preview })).body).toMatchObject({ tools: [] });
    expect((await api.call('GET', `${PATH}/unsaved`)).status).toBe(404);
  });

  it('S0.5 viewers may read definitions but not change them, and agents may not read them', async () => {
    const viewer = { key: await api.given.key('viewer') };
    expect((await api.call('GET', `${PATH}/reviewer`, viewer)).status).toBe(200);
    expect(await register('refused', {}, viewer)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    expect((await api.call('GET', PATH, { key: await api.given.key('agent') })).status).toBe(403);
  });
});
