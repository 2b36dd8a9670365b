import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { type Answer, startApi, type TestApi } from '../support/api.js';

let api: TestApi;
let leaseToken: string;
beforeAll(async () => {
  api = await startApi();
  leaseToken = await join('builder-01');
  await join('other');
});
afterAll(async () => await api.stop());

async function join(agentId: string): Promise<string> {
  const body = { agentId, name: 'swarm-builder', capabilities: ['build'] };
  return (await api.call<{ leaseToken: string }>('POST', '/v1/agents', { body })).body.leaseToken;
}

/** What must be the same by every way; times and request ids are their own. */
function shapeOf({ status, headers, body }: Answer): unknown {
  const { requestId, beatAt, nextIntervalMs, ...rest } = body;
  const own = new Set(['date', 'content-length', 'x-request-id', 'connection', 'keep-alive']);
  const others = [...headers].filter(([name]) => !own.has(name));
  const kinds = [typeof requestId, typeof beatAt, typeof nextIntervalMs];
  return {
    status,
    headers: others.toSorted(([one], [other]) => (one < other ? -1 : 1)),
    kinds,
    echoed: headers.get('x-request-id') === requestId,
    body: rest,
  };
}

/**
 * By a connection of its own, which the lane reads itself, by one that had another request before, which Node reads, and by
 * the ordinary route: a question mark at its end is enough to make an address one for that.
 */
async function allWays(path: string, key: string | null, body: unknown): Promise<unknown[]> {
  const own = new Agent({ keepAlive: true, maxSockets: 1 });
  const used = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    await post(used, '/v1/unknown', key, {});
    const byOwn = await post(own, path, key, body);
    const byUsed = await post(used, path, key, body);
    return [byOwn, byUsed, await post(used, `${path}?`, key, body)].map(shapeOf);
  } finally {
    own.destroy();
    used.destroy();
  }
}

async function post(agent: Agent, path: string, key: string | null, body: unknown): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) };
  const asked = request(api.url + path, { method: 'POST', agent, headers });
  asked.end(typeof body === 'string' ? body : JSON.stringify(body));
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const { statusCode: status = 0, headersDistinct } = answer;
  const flat = Object.entries(headersDistinct).map(([name, values]): [string, string] => [name, String(values)]);
  return { status, headers: new Headers(flat), body: (await json(answer)) as Answer['body'] };
}

const BEAT = '/v1/agents/builder-01/heartbeat';
const CASES: [string, string, () => string | null, unknown][] = [
  ['a beat', BEAT, () => leaseToken, { generation: 1, inFlight: 3 }],
  ['a beat of an operator', BEAT, () => api.adminKey, { generation: 1 }],
  ['a beat without a credential', BEAT, () => null, { generation: 1 }],
  ['a beat with a credential nobody knows', BEAT, () => 'rk_unknown_key', { generation: 1 }],
  ['a beat with the token of another', '/v1/agents/other/heartbeat', () => leaseToken, { generation: 1 }],
  ['a beat of the unknown', '/v1/agents/nobody/heartbeat', () => leaseToken, { generation: 1 }],
  ['a beat from the future', BEAT, () => leaseToken, { generation: 7 }],
  ['a beat with wrong fields', BEAT, () => leaseToken, { generation: 0, load: -1, mood: 'fine' }],
  ['a beat that is a list', BEAT, () => leaseToken, []],
  ['a beat that is no JSON', BEAT, () => leaseToken, '{"generation":'],
  ['a beat with a NUL in it', BEAT, () => leaseToken, '{"generation":1,"mood":"\\u0000"}'],
  ['a beat that is too deep', BEAT, () => leaseToken, `${'['.repeat(200)}${']'.repeat(200)}`],
  ['a question', '/v1/agents/query', () => api.adminKey, { capabilities: ['nothing.such'] }],
  ['a question of whom it is not for', '/v1/agents/query', () => leaseToken, { capabilities: ['build'] }],
  ['a question that asks Postgres', '/v1/agents/query', () => api.adminKey, { any: ['none'], consistency: 'strong' }],
  ['a question with wrong fields', '/v1/agents/query', () => api.adminKey, { capabilities: 'build', limit: 0 }],
  ['a question for a strategy there is not', '/v1/agents/query', () => api.adminKey, { prefer: 'luck' }],
];

describe('the express lane', () => {
  it.each(CASES)('S3.4 S3.6 answers %s as the ordinary route does', async (_what, path, key, body) => {
    const [byOwn, byUsed, byRoute] = await allWays(path, key(), body);
    expect(byOwn).toEqual(byRoute);
    expect(byUsed).toEqual(byRoute);
  });

  it('counts its requests with those of the ordinary route', async () => {
    const counted = async (): Promise<number> => {
      const { body } = await api.call<string>('GET', '/metrics');
      const line = /_count\{method="POST",route="\/v1\/agents\/:id\/heartbeat",status="200"\} (\d+)/;
      return Number(line.exec(body)?.[1] ?? 0);
    };
    const before = await counted();
    await allWays(BEAT, leaseToken, { generation: 1 });
    expect((await counted()) - before).toBe(3);
  });

  it('takes a body that comes in pieces, and keeps the caller’s request id', async () => {
    const pieces = ['{"gener', 'ation":1,', '"inFlight":2}'];
    const body = new ReadableStream({
      async pull(controller) {
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(piece));
      },
    });
    const response = await fetch(api.url + BEAT, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${leaseToken}`,
        'content-type': 'application/json',
        'content-length': '29',
        'x-request-id': 'mine-1',
      },
      body,
      duplex: 'half',
    });
    expect([response.status, response.headers.get('x-request-id')]).toEqual([200, 'mine-1']);
  });

  it('believes a trusted gateway as the ordinary route does', async () => {
    const behind = await startApi({ ROLLCALL_TRUSTED_PROXIES: '127.0.0.1' });
    try {
      const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.9' };
      const [byLane, byRoute] = await Promise.all(
        ['/v1/agents/query', '/v1/agents/query?'].map(
          async (path) => await behind.call('POST', path, { headers, body: { capabilities: ['nothing.such'] } }),
        ),
      );
      expect(byLane?.headers.get('strict-transport-security')).toMatch(/max-age/);
      expect(byLane && shapeOf(byLane)).toEqual(byRoute && shapeOf(byRoute));
    } finally {
      await behind.stop();
    }
  });
});
