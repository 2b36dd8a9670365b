import { HOSTILE_SCHEMAS } from '#rollcall/agent-runtime/testing';
import { VendorRegistry } from '#rollcall/providers';
import { say, ScriptedModel } from '#rollcall/providers/testing';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { rawRequest } from '../support/mcp-client.js';

const EXPENSIVE = HOSTILE_SCHEMAS.find(({ name }) => name === 'recursion that branches below anyOf')!;

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
  const open = (): ScriptedModel => new ScriptedModel(() => say(JSON.stringify(EXPENSIVE.value)), 'hostile');
  api.app.nest.get(VendorRegistry, { strict: false }).register({ name: 'hostile', needsKey: false, open });
  await api.call('POST', '/v1/definitions', { body: { name: 'replaced', content: contentOf({ type: 'object' }) } });
});
afterAll(async () => await api.stop());

function contentOf(outputSchema: object): Record<string, unknown> {
  return { description: 'Answers.', model: { vendor: 'hostile', model: 'hostile' }, outputSchema };
}

/** The ways by which a schema that a user wrote reaches the server. */
const DOORS = {
  'a registration': async (name: string, content: object) =>
    await api.call('POST', '/v1/definitions', { body: { name, content } }),
  'a replacement': async (_name: string, content: object) =>
    await api.call('PUT', '/v1/definitions/replaced', { body: { content } }),
  'a preview': async (name: string, content: object) =>
    await api.call('POST', '/v1/definitions/effective', { body: { name, content } }),
  'an agent without a definition': async (name: string, content: object) =>
    await api.call('POST', '/v1/runtime/agents', { body: { name, content } }),
  'an agent over MCP': async (name: string, content: object) => {
    const { body, headers } = rawRequest('tools/call', { name: 'create_agent', arguments: { name, content } });
    const answer = await api.call('POST', '/mcp', { body, headers });
    const result = answer.body['result'] as { isError?: boolean; structuredContent?: object } | undefined;
    const error = answer.body['error'] as { data?: object } | undefined;
    const isDone = result !== undefined && result.isError !== true;
    return {
      ...answer,
      status: isDone ? 200 : 400,
      body: { ...answer.body, ...result?.structuredContent, ...error?.data },
    };
  },
  'an import': async (name: string, content: object) => {
    const file = { path: `${name}.json`, content: JSON.stringify({ [name]: content }) };
    return await api.call('POST', '/v1/definition-imports', { body: { files: [file] } });
  },
};

/** The limits of all bodies come first. An import reports the problems of each file. */
const REFUSALS = new Set(['DEFINITION_INVALID', 'VALIDATION_FAILED', 'MALFORMED_JSON']);

function isRefused({ status, body }: Answer): boolean {
  if (status === 400) return REFUSALS.has(String(body['code'])) && String(body['detail']) !== '';
  return body['rejected'] === 1 && JSON.stringify(body).includes('outputSchema');
}

describe('output schemas', () => {
  it.each(Object.entries(DOORS))(
    'S-2 %s rejects each hostile schema with the reason, or bounds it',
    async (door, send) => {
      const wrong: unknown[] = [];
      for (const [index, { name, schema, isRejected }] of HOSTILE_SCHEMAS.entries()) {
        const answer = await send(`${door.replaceAll(' ', '-')}-${index}`, contentOf(schema));
        const isRight = isRejected ? isRefused(answer) : isRefused(answer) || answer.status < 300;
        if (!isRight) wrong.push({ name, answer });
      }
      expect(wrong).toEqual([]);
    },
  );

  it('S-2 a schema that is too expensive for an answer ends its run with a code, and heartbeats continue meanwhile', async () => {
    const agent = 'beating';
    const registered = await api.call('POST', '/v1/agents', {
      body: { agentId: agent, name: agent, capabilities: ['build'] },
    });
    expect(registered.status).toBe(201);
    const { leaseToken, generation } = registered.body as { leaseToken: string; generation: number };
    await DOORS['a registration']('expensive', contentOf(EXPENSIVE.schema));
    const started = await api.call('POST', '/v1/runs', { body: { definition: 'expensive', input: 'Answer.' } });
    expect(started.status).toBeLessThan(300);
    const path = `/v1/runs/${String(started.body['id'])}`;
    let run = started.body;
    let beats = 0;
    while (['queued', 'running'].includes(String(run['state']))) {
      const { status } = await api.call('POST', `/v1/agents/${agent}/heartbeat`, {
        body: { generation },
        key: leaseToken,
      });
      expect(status).toBe(200);
      beats += 1;
      run = (await api.call('GET', path)).body;
    }
    expect(run).toMatchObject({ state: 'failed', result: { error: { code: 'SCHEMA_CHECK_TIMED_OUT' } } });
    expect(beats).toBeGreaterThan(2);
  });
});
