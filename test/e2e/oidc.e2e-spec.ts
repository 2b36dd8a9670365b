import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;

let issuer: Server;
let issuerUrl: string;
let trusted: Pair;
let untrusted: Pair;
let api: TestApi;
let outage: 'all' | 'keys' | undefined;

beforeAll(async () => {
  trusted = await generateKeyPair('RS256');
  untrusted = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(trusted.publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' };
  issuer = createServer((request, response) => {
    if (outage === 'all' || (outage === 'keys' && request.url === '/jwks')) return void response.writeHead(503).end();
    const body = request.url === '/jwks' ? { keys: [jwk] } : { issuer: issuerUrl, jwks_uri: `${issuerUrl}/jwks` };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve));
  issuerUrl = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
  api = await startOidcApi();
});

afterAll(async () => {
  await api.stop();
  issuer.close();
});

async function startOidcApi(changes: Record<string, string> = {}): Promise<TestApi> {
  return await startApi({
    ROLLCALL_OIDC_ISSUER: issuerUrl,
    ROLLCALL_OIDC_AUDIENCE: 'rollcall',
    ROLLCALL_OIDC_ROLES_CLAIM: 'realm_access.roles',
    ...changes,
  });
}

function claims(change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    iss: issuerUrl,
    aud: 'rollcall',
    sub: 'alice',
    name: 'Alice',
    realm_access: { roles: ['viewer', 'king'] },
    ...change,
  };
}

async function sign(
  payload: Record<string, unknown>,
  key: Pair['privateKey'] | Uint8Array = trusted.privateKey,
  alg = 'RS256',
): Promise<string> {
  const jwt = new SignJWT(payload).setProtectedHeader({ alg, kid: 'k1' });
  return await ('exp' in payload ? jwt : jwt.setExpirationTime('5m')).sign(key);
}

async function me(token: string): Promise<{ status: number; body: Record<string, unknown> }> {
  return await api.call('GET', '/v1/me', { key: token });
}

describe('a JWT of the configured issuer', () => {
  it('a token is accepted, and its unknown roles are ignored', async () => {
    expect(await me(await sign(claims()))).toMatchObject({
      status: 200,
      body: { id: 'oidc:alice', kind: 'oidc', name: 'Alice', roles: ['viewer'] },
    });
  });

  it('a token with the role caller may query', async () => {
    const key = await sign(claims({ realm_access: { roles: ['caller'] } }));
    expect(await me(key)).toMatchObject({ status: 200, body: { roles: ['caller'] } });
    expect((await api.call('POST', '/v1/agents/query', { key, body: {} })).status).toBe(200);
  });

  it('rejects a token without a known role with FORBIDDEN', async () => {
    const answer = await me(await sign(claims({ realm_access: { roles: ['king'] } })));
    expect(answer).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  });

  it('a token with the role admin can create keys, and is named in the audit log', async () => {
    const admin = await sign(claims({ realm_access: { roles: ['admin'] } }));
    expect((await api.call('POST', '/v1/keys', { key: admin, body: { name: 'x', roles: ['viewer'] } })).status).toBe(
      201,
    );
    const audit = await api.call<{ items: unknown[] }>('GET', '/v1/audit?limit=1');
    expect(audit.body.items[0]).toMatchObject({ actorId: 'oidc:alice', actorName: 'Alice' });
  });
});

describe('the validation of a JWT', () => {
  it.each([
    ['for another audience', { aud: 'someone-else' }],
    ['without an audience', { aud: undefined }],
    ['from another issuer', { iss: 'https://evil.example' }],
    ['without a subject', { sub: undefined }],
    ['that has expired', { exp: 1_000 }],
    ['that is not valid yet', { nbf: 4_000_000_000 }],
  ])('rejects a token %s', async (_why, change) => {
    expect((await me(await sign(claims(change)))).status).toBe(401);
  });

  it('rejects a token signed with another key', async () => {
    expect((await me(await sign(claims(), untrusted.privateKey))).status).toBe(401);
  });

  it('rejects a token without a signature', async () => {
    expect((await me(new UnsecuredJWT(claims()).setExpirationTime('5m').encode())).status).toBe(401);
  });

  it('rejects a token signed with the public key as a shared secret', async () => {
    const secret = new TextEncoder().encode(await exportSPKI(trusted.publicKey));
    expect((await me(await sign(claims(), secret, 'HS256'))).status).toBe(401);
  });

  it('rejects a token when no issuer is configured', async () => {
    const plain = await startApi();
    expect((await plain.call('GET', '/v1/me', { key: await sign(claims()) })).status).toBe(401);
    await plain.stop();
  });
});

describe('claims that cannot identify a principal', () => {
  it.each([
    ['an empty subject', { sub: '' }],
    ['a blank subject', { sub: '  ' }],
    ['a numeric subject', { sub: 7 }],
    ['a subject that is a list', { sub: ['alice'] }],
    ['a subject of 256 characters', { sub: 'a'.repeat(256) }],
    ['a subject with a NUL character', { sub: 'ali\0ce' }],
    ['a subject with a line break', { sub: 'ali\nce' }],
    ['a subject with half of a surrogate pair', { sub: 'a\ud800' }],
  ])('A16 rejects a token with %s with 401', async (_what, change) => {
    expect(await me(await sign(claims(change)))).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  });

  it.each([['a\0b'], ['a\nb'], ['x'.repeat(256)], [''], [7]])(
    'A16 in the audit log, the subject replaces a name such as %j',
    async (name) => {
      const admin = await sign(claims({ name, realm_access: { roles: ['admin'] } }));
      const issued = await api.call('POST', '/v1/keys', { key: admin, body: { name: 'x', roles: ['viewer'] } });
      expect(issued.status).toBe(201);
      const audit = await api.call<{ items: unknown[] }>('GET', '/v1/audit?limit=1');
      expect(audit.body.items[0]).toMatchObject({ actorId: 'oidc:alice', actorName: 'alice' });
    },
  );
});

describe('a stored answer to a request with a JWT', () => {
  const once = async (on: TestApi, token: string): Promise<Answer> =>
    await on.call('POST', '/v1/keys', {
      key: token,
      body: { name: 'once', roles: ['viewer'] },
      headers: { 'idempotency-key': 'once-1' },
    });
  const admin = async (jti: string): Promise<string> => await sign(claims({ jti, realm_access: { roles: ['admin'] } }));

  it('A12 another token of the same subject cannot decrypt a stored answer, unless there is a sealing key', async () => {
    const first = await admin('1');
    const issued = await once(api, first);
    expect(await once(api, first)).toMatchObject({ status: 201, body: issued.body });
    expect(await once(api, await admin('2'))).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    const sealed = await startOidcApi({ ROLLCALL_SEALING_KEY: 's'.repeat(32) });
    const [one, other] = [await once(sealed, await admin('3')), await once(sealed, await admin('4'))];
    expect(other).toMatchObject({ status: 201, body: one.body });
    await sealed.stop();
  });
});

describe('an unavailable issuer', () => {
  it.each(['all', 'keys'] as const)(
    'an outage of the issuer (%s) causes 503 for its tokens but not for API keys, and the issuer is tried again',
    async (part) => {
      outage = part;
      const fresh = await startOidcApi();
      const token = await sign(claims());
      const answer = await fresh.call('GET', '/v1/me', { key: token });
      expect(answer).toMatchObject({ status: 503, body: { code: 'IDENTITY_PROVIDER_UNAVAILABLE' } });
      expect(answer.headers.get('retry-after')).toBe('5');
      expect((await fresh.call('GET', '/v1/me')).status).toBe(200);
      outage = undefined;
      expect((await fresh.call('GET', '/v1/me', { key: token })).status).toBe(200);
      await fresh.stop();
    },
  );
});

describe('the namespaces of a JWT', () => {
  const GROUPS = [
    { group: 'platform', roles: ['admin'], namespace: '*' },
    { group: 'team-a', roles: ['operator'], namespace: 'team-a' },
    { group: 'team-b', roles: ['viewer'], namespace: 'team-b' },
    { group: 'everyone', roles: ['viewer'], namespace: '*' },
    { group: 'team-a-admins', roles: ['admin'], namespace: 'team-a' },
  ];
  let teams: TestApi;

  beforeAll(async () => {
    teams = await startOidcApi({ ROLLCALL_OIDC_GROUPS: JSON.stringify(GROUPS) });
    for (const name of ['team-a', 'team-b']) await teams.call('POST', '/v1/namespaces', { body: { name } });
  });
  afterAll(async () => await teams.stop());

  const meIn = async (change: Record<string, unknown>, namespace?: string): Promise<Answer> =>
    await teams.call('GET', '/v1/me', {
      key: await sign(claims(change)),
      ...(namespace !== undefined && { headers: { 'rollcall-namespace': namespace } }),
    });

  it('without a claim and without a known group, a token belongs to `default`', async () => {
    expect((await meIn({})).body).toMatchObject({ namespace: 'default', namespaces: ['default'], roles: ['viewer'] });
    expect((await meIn({ groups: ['unknown'] }, 'team-a')).status).toBe(404);
  });

  it('the claim `namespace` names one namespace, several, or all', async () => {
    expect((await meIn({ namespace: 'team-a' })).body).toMatchObject({ namespace: 'team-a', namespaces: ['team-a'] });
    const both = { namespace: ['team-a', 'team-b'] };
    expect(await meIn(both)).toMatchObject({ status: 400, body: { code: 'NAMESPACE_REQUIRED' } });
    expect((await meIn(both, 'team-b')).body).toMatchObject({ namespace: 'team-b', roles: ['viewer'] });
    expect((await meIn(both, 'default')).status).toBe(404);
    expect((await meIn({ namespace: '*' }, 'team-b')).body).toMatchObject({ namespace: 'team-b', namespaces: ['*'] });
  });

  it('each group gives roles in its own namespace', async () => {
    const groups = ['team-a', 'team-b'];
    expect((await meIn({ groups }, 'team-a')).body).toMatchObject({ roles: ['operator'] });
    expect((await meIn({ groups }, 'team-b')).body).toMatchObject({ roles: ['viewer'] });
    expect((await meIn({ groups: ['platform'] })).body).toMatchObject({ namespace: 'default', roles: ['admin'] });
  });

  it('a stronger role in one namespace gives no access outside it, even if the token has another role for all namespaces', async () => {
    const key = await sign(claims({ groups: ['everyone', 'team-a-admins'] }));
    const inTeamA = { key, headers: { 'rollcall-namespace': 'team-a' } };
    expect((await teams.call('GET', '/v1/me', inTeamA)).body).toMatchObject({ roles: ['viewer', 'admin'] });
    const issue = async (namespace: string): Promise<number> =>
      (await teams.call('POST', '/v1/keys', { ...inTeamA, body: { name: 'k', roles: ['admin'], namespace } })).status;
    expect(await Promise.all(['team-a', 'team-b', '*'].map(issue))).toEqual([201, 404, 404]);
    for (const [method, path, body] of [
      ['POST', '/v1/namespaces', { name: 'mine' }],
      ['PATCH', '/v1/namespaces/team-b', { limits: { agents: 1 } }],
      ['DELETE', '/v1/namespaces/team-b', undefined],
      ['PUT', '/v1/registry/protection', { override: 'evict' }],
      ['POST', '/v1/budgets', { kind: 'fleet', limit: { tokens: 1 } }],
    ] as const) {
      const { status } = await teams.call(method, path, { ...inTeamA, body });
      expect({ method, path, status }).toEqual({ method, path, status: 403 });
    }
    const { items } = (await teams.call<{ items: { namespace: string }[] }>('GET', '/v1/keys', inTeamA)).body;
    expect(new Set(items.map(({ namespace }) => namespace))).toEqual(new Set(['team-a']));
  });

  it('a claim without a valid namespace does not fall back to `default`', async () => {
    for (const namespace of ['Team-A', 'team_a', '', [], ['Team-A'], {}, null, 'team-a,team-b']) {
      const { status } = await meIn({ namespace, realm_access: { roles: ['admin'] } });
      expect({ namespace, status }).toEqual({ namespace, status: 404 });
    }
  });

  it('a claim that names a namespace that does not exist gives access to nothing', async () => {
    for (const namespace of ['no-such', ['../x'], 7, { a: 1 }]) {
      const { status } = await meIn({ namespace }, 'no-such');
      expect({ namespace, status }).toEqual({ namespace, status: 404 });
    }
  });
});
