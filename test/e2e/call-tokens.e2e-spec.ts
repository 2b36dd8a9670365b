import { createRemoteJWKSet, exportJWK, generateKeyPair, type JWK, jwtVerify, type JWTPayload, SignJWT } from 'jose';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { ExampleRunner, NODES } from '../support/doc-example.js';
import { A2aWorker, HttpWorker } from '#rollcall/providers/testing';

const SETTINGS = { ROLLCALL_EGRESS_ALLOW: '127.0.0.1', ROLLCALL_SEALING_KEY: 's'.repeat(64) };
const MAX_LIFETIME_S = 300;

let api: TestApi;
let key: JWK;
let examples: ExampleRunner;
const closing: { close(): Promise<void> }[] = [];
beforeAll(async () => {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  key = { ...(await exportJWK(privateKey)), kid: 'of-the-operator' };
  api = await startApi({ ...SETTINGS, AGENT_KEY: 'agent-secret' });
  examples = new ExampleRunner({ ROLLCALL_URL: api.url, ROLLCALL_KEY: await api.given.key('agent') });
});
afterEach(async () => await Promise.all(closing.splice(0).map(async (one) => await one.close())));
afterAll(async () => {
  examples.stop();
  await api.stop();
});

async function http(at: TestApi, agentId: string): Promise<HttpWorker> {
  const worker = await HttpWorker.start({ isIdempotent: false });
  closing.push(worker);
  worker.release();
  await at.given.agent({ agentId, endpoint: worker.url, capabilities: ['work'] });
  return worker;
}

async function run(at: TestApi, agent: string): Promise<{ id: string; state: string; result: { parts: object[] } }> {
  const request = at.call<{ id: string; state: string; result: { parts: object[] } }>('POST', '/v1/runs?waitMs=20000', {
    body: { agent, input: 'Ada' },
  });
  return (await request).body;
}

/** The three lines of docs/agents-work.md. */
async function verified(token: unknown, audience: string, url = api.url): Promise<JWTPayload> {
  const keys = createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`));
  return (await jwtVerify(String(token), keys, { issuer: url, audience })).payload;
}

describe('the token of a call', () => {
  it('N-11 proves to the agent which installation calls it, for which run, in which namespace and for whom', async () => {
    const worker = await http(api, 'signed');
    const { id } = await run(api, 'signed');
    const claims = await verified(worker.tokens[0], 'signed');
    expect(claims).toMatchObject({ iss: api.url, aud: 'signed', runId: id, callId: id, namespace: 'default' });
    expect(claims.sub).toMatch(/^key:/);
    expect(claims.jti).toMatch(/^[0-9a-f-]{36}$/);
    expect((claims.exp ?? Infinity) - (claims.iat ?? 0)).toBeLessThanOrEqual(MAX_LIFETIME_S);
    await expect(verified(worker.tokens[0], 'another')).rejects.toMatchObject({
      code: 'ERR_JWT_CLAIM_VALIDATION_FAILED',
    });
  });

  it('N-11 every request to an A2A agent has one, and no two requests the same', async () => {
    const worker = await A2aWorker.start({ streaming: false });
    closing.push(worker);
    await api.given.agent({ agentId: 'polled', endpoint: worker.url, agentCard: { name: 'polled' } });
    const running = run(api, 'polled');
    await until('the task is polled', () => worker.methods.includes('GetTask'));
    worker.release();
    await running;
    for (const token of worker.tokens) await verified(token, 'polled');
    expect(new Set(worker.tokens).size).toBe(worker.tokens.length);
  });

  it('N-11 all replicas sign with one key, which the first of them has made', async () => {
    const worker = await http(api, 'shared');
    const other = await api.replica();
    await Promise.all([run(api, 'shared'), run(other, 'shared')]);
    const keyIds = worker.tokens.map(
      (token) => JSON.parse(String(Buffer.from(String(token).split('.')[0] ?? '', 'base64url'))) as JWK,
    );
    expect(new Set(keyIds.map(({ kid }) => kid)).size).toBe(1);
    const sets = await Promise.all(
      [api, other].map(async (at) => (await at.call('GET', '/.well-known/jwks.json')).body),
    );
    expect(sets[0]).toEqual(sets[1]);
    expect(JSON.stringify(sets)).not.toContain('"d"');
    await other.stop();
  });

  it('N-11 replicas that start at the same time make one key', async () => {
    const first = await startApi(SETTINGS);
    const others = await Promise.all([first.replica(), first.replica()]);
    const sets = await Promise.all(
      [first, ...others].map(async (at) => (await at.call<{ keys: JWK[] }>('GET', '/.well-known/jwks.json')).body),
    );
    expect(new Set(sets.map(({ keys }) => keys.map(({ kid }) => kid).join())).size).toBe(1);
    expect(sets[0]?.keys).toHaveLength(1);
    const rows = await first.database.db.query<{ sealed: Buffer }>('SELECT sealed FROM installation_key');
    expect(rows).toHaveLength(1);
    expect(rows[0]?.sealed.toString('latin1')).not.toContain('"d"');
    for (const one of others) await one.stop();
    await first.stop();
  });

  it('N-11 the configured key signs, and does not replace the credential of the agent', async () => {
    const worker = await HttpWorker.start({ isIdempotent: false });
    closing.push(worker);
    worker.release();
    const configured = await startApi({
      ...SETTINGS,
      AGENT_KEY: 'agent-secret',
      ROLLCALL_AGENT_CREDENTIALS: JSON.stringify({ AGENT_KEY: worker.url }),
      ROLLCALL_A2A_SIGNING_KEYS: JSON.stringify([key]),
    });
    await configured.given.agent({ agentId: 'both', endpoint: worker.url });
    await run(configured, 'both');
    await verified(worker.tokens[0], 'both', configured.url);
    expect(worker.requests[0]?.headers['authorization']).toBe('Bearer agent-secret');
    const { body } = await configured.call<{ keys: JWK[] }>('GET', '/.well-known/jwks.json');
    expect(body.keys.map(({ kid }) => kid)).toEqual(['of-the-operator']);
    await configured.stop();
  });

  it('N-11 without a sealing key and a configured key, calls are made without a token', async () => {
    const plain = await startApi({ ROLLCALL_EGRESS_ALLOW: '127.0.0.1', DATABASE_URL: 'postgres://unused' });
    const worker = await http(plain, 'unsigned');
    expect(await run(plain, 'unsigned')).toMatchObject({ state: 'completed' });
    expect(worker.tokens).toEqual([undefined]);
    await plain.stop();
  });
});

describe('the agents of docs/agents-work.md', () => {
  it.each(
    NODES.flatMap((node) => [
      ['http-agent.js', 'greeter-http', node],
      ['a2a-agent.js', 'greeter-a2a', node],
    ]),
  )('N-2 %s registers as %s, and answers a task: %s', async (program, agentId, node) => {
    const agent = examples.program(program, { PORT: '0' }, node);
    await until(`the agent is registered: ${agent.output()}`, () => agent.output().includes('registered'));
    expect(await run(api, agentId)).toMatchObject({ state: 'completed', result: { parts: [{ text: 'Hello, Ada!' }] } });
    agent.child.kill();
  });

  it('N-11 reject a forged token, an old one, one for another agent, and none', async () => {
    const signing = await startApi({ ...SETTINGS, ROLLCALL_A2A_SIGNING_KEYS: JSON.stringify([key]) });
    const agentKey = await signing.given.key('agent');
    const environment = { PORT: '0', ROLLCALL_URL: signing.url, ROLLCALL_KEY: agentKey };
    const agents = ['http-agent.js', 'a2a-agent.js'].map((program) => examples.program(program, environment));
    await until('the agents are registered', () => agents.every(({ output }) => output().includes('registered')));
    const token = async (
      audience: string,
      signer: Parameters<SignJWT['sign']>[0],
      expiresAt: string,
    ): Promise<string> =>
      await new SignJWT({ namespace: 'default' })
        .setProtectedHeader({ alg: 'ES256', kid: 'of-the-operator' })
        .setIssuer(signing.url)
        .setAudience(audience)
        .setExpirationTime(expiresAt)
        .sign(signer);
    const { privateKey: foreign } = await generateKeyPair('ES256');
    for (const { output } of agents) {
      const [, agentId = '', url = ''] = /registered (\S+) at (\S+)/.exec(output()) ?? [];
      const call = async (value?: string): Promise<number> => {
        const headers = { 'content-type': 'application/json', ...(value !== undefined && { 'rollcall-token': value }) };
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: {}, text: 'Ada' });
        return (await fetch(url, { method: 'POST', headers, body })).status;
      };
      expect(await call(await token(agentId, key, '1m'))).toBe(200);
      expect(await call(await token(agentId, foreign, '1m'))).toBe(401);
      expect(await call(await token(agentId, key, '-1s'))).toBe(401);
      expect(await call(await token('another', key, '1m'))).toBe(401);
      expect(await call('a.b.c')).toBe(401);
      expect(await call()).toBe(401);
    }
    await signing.stop();
  });
});
