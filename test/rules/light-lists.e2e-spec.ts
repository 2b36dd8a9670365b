import { PAGE_BYTES } from '#rollcall/platform';
import { rawRequest } from '../support/mcp-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

/** 150 KB, because each of these characters has three bytes. */
const CHARS = 50_000;
const ROWS = 12;
const text = (mark: string): string => `${mark} ${'天'.repeat(CHARS)}`;
/** The longest task of a contract. */
const MAX_TASK = 16_000;

interface ListPage {
  readonly items: Record<string, unknown>[];
  readonly nextCursor: string | null;
}

interface LargeList {
  readonly path: string;
  /** Creates rows that are as large as requests can make them. */
  readonly fill: () => Promise<void>;
  /** The field that identifies a row. */
  readonly id: string;
}

/**
 * Every operation that lists rows in pages. The rows of `small` lists have at most some KB, because the fields from which they are made
 * are limited; those of the other lists are made as large as requests can make them. Add a new list here by hand.
 */
const SMALL = new Set([
  'GET /v1/agents/{id}/outcomes',
  'GET /v1/audit',
  'GET /v1/budgets',
  'GET /v1/budgets/{id}/ledger',
  'GET /v1/conversations', // ids and counters
  'GET /v1/definitions', // names, descriptions and revisions
  'GET /v1/definitions/{name}/revisions',
  'GET /v1/events', // facts, without records and contents
  'GET /v1/keys',
  'GET /v1/namespaces',
  'GET /v1/runs/{id}/files', // paths and sizes
  'GET /v1/runtime/agents',
  'GET /v1/webhooks',
  'GET /v1/webhooks/{id}/deliveries', // without the events
]);

/** Every operation that answers with a list of objects without pages, and what bounds the list. Add a new one here by hand. */
const UNPAGED: Record<string, string> = {
  'GET /v1/agents/{id}/budget': 'one budget for each kind of window',
  'GET /v1/budgets/reconciliation': 'at most 100 discrepancies; one at a time of each namespace',
  'GET /v1/contracts/{id}': 'at most 1,000 participants, with 21 bids each; counts as a stream',
  'GET /v1/definitions/{name}/diff': 'two definitions',
  'GET /v1/definitions/{name}/effective': 'one definition and its tools',
  'GET /v1/events/snapshot': 'streamed in slices',
  'GET /v1/models': 'the presets of the operator',
  'GET /v1/plugins': 'the plugins of the operator',
  'GET /v1/providers': 'the providers of the operator',
  'GET /v1/runs/{id}/export': 'streamed, and ends at 64 MB',
  'GET /v1/runs/{id}/tree': 'the limit of delegated runs; previews',
  'GET /v1/sinks': 'the quota of webhooks',
  'GET /v1/skills': 'the skills of the operator, without their contents',
  'GET /v1/tools': 'the tools of the operator; at most 500 of each MCP server',
  'GET /v1/tools/pins': 'at most 500 tools of each MCP server',
  'GET /v1/usage': 'at most 20,000 points; one at a time of each namespace',
};

type Schema = Record<string, unknown> & { $ref?: string; properties?: Record<string, Schema>; items?: Schema };
interface Operation {
  readonly parameters?: readonly { readonly name: string }[];
  readonly responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

let api: TestApi;
let runId: string;
beforeAll(async () => {
  api = await startApi();
  const content = { description: 'Echoes.', instructions: 'Echo.' };
  await api.call('POST', '/v1/definitions', { body: { name: 'echo', content } });
  runId = await start(text('first'));
});
afterAll(async () => await api.stop());

async function start(input: string, conversationId?: string): Promise<string> {
  const { body } = await api.call<{ id: string }>('POST', '/v1/runs?waitMs=20000', {
    body: { definition: 'echo', input, conversationId },
  });
  return body.id;
}

async function each(create: (at: number) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < ROWS; at += 1) await create(at);
}

const LARGE_LISTS: Record<string, LargeList> = {
  'GET /v1/agents': {
    path: '/v1/agents?',
    id: 'agentId',
    fill: async () =>
      await each(async (at) => {
        const body = {
          name: 'large',
          capabilities: ['build'],
          agentId: `large-${at}`,
          agentCard: { text: text(`${at}`) },
        };
        return await api.call('POST', '/v1/agents', { body });
      }),
  },
  'GET /v1/contracts': {
    path: '/v1/contracts?',
    id: 'id',
    fill: async () =>
      await each(async () => {
        const task = '天'.repeat(MAX_TASK);
        const body = { capabilities: ['bid'], task, bidWithinMs: 60_000 };
        const sent = Array.from({ length: 3 }, async () => await api.call('POST', '/v1/contracts', { body }));
        expect((await Promise.all(sent)).map(({ status }) => status)).toEqual([201, 201, 201]);
      }),
  },
  'GET /v1/conversations/{id}': {
    path: '/v1/conversations/large?',
    id: 'id',
    fill: async () => await each(async (at) => await start(text(`${at}`), 'large')),
  },
  'GET /v1/runs': {
    path: '/v1/runs?',
    id: 'id',
    fill: async () => await each(async (at) => await start(text(`${at}`))),
  },
  'GET /v1/runs/{id}/steps': {
    path: '', // known when the run is started
    id: 'seq',
    fill: async () => {
      await api.database.db.query(
        `INSERT INTO run_step (run_id, seq, step) SELECT $1, 10 + n,
           json_build_object('type', 'message', 'parts', json_build_array(json_build_object('type', 'text', 'text', $2::text)))
         FROM generate_series(1, ${ROWS}) AS n`,
        [runId, text('step')],
      );
    },
  },
};

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Schema> };
}

async function openapi(): Promise<Document> {
  return (await api.call<Document>('GET', '/openapi.json')).body;
}

async function reads(): Promise<{ name: string; operation: Operation }[]> {
  const { paths } = await openapi();
  return Object.entries(paths).flatMap(([path, { get }]) => (get ? [{ name: `GET ${path}`, operation: get }] : []));
}

const isPaged = ({ parameters = [] }: Operation): boolean => parameters.some(({ name }) => name === 'limit');

/** Whether a field of the object is a list of objects. */
function listsObjects(schema: Schema | undefined, document: Document): boolean {
  const resolved = schema?.$ref ? document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] : schema;
  const parts = (resolved?.['allOf'] ?? []) as Schema[];
  return (
    Object.values(resolved?.properties ?? {}).some(({ items }) => items?.$ref !== undefined) ||
    parts.some((part) => listsObjects(part, document))
  );
}

async function pageAt(path: string): Promise<{ page: ListPage; bytes: number }> {
  const { status, body } = await api.call<ListPage & { detail?: string }>('GET', path);
  expect({ path, status, detail: body.detail }).toEqual({ path, status: 200, detail: undefined });
  return { page: body, bytes: Buffer.byteLength(JSON.stringify(body)) };
}

describe('lists of large rows', () => {
  it('S-4 every list that has pages is either a list of small rows or tested with large ones', async () => {
    const lists = (await reads()).filter(({ operation }) => isPaged(operation)).map(({ name }) => name);
    expect(lists.toSorted()).toEqual([...SMALL, ...Object.keys(LARGE_LISTS)].toSorted());
  });

  it('S-4 every other operation that answers with a list names what bounds it', async () => {
    const document = await openapi();
    const isList = ({ responses }: Operation): boolean =>
      Object.values(responses['200']?.content ?? {}).some(({ schema }) => listsObjects(schema, document));
    const lists = (await reads()).filter(({ operation }) => !isPaged(operation) && isList(operation));
    expect(lists.map(({ name }) => name).toSorted()).toEqual(Object.keys(UNPAGED).toSorted());
  });

  it.each(Object.keys(LARGE_LISTS))(
    'S-4 %s ends a page at 1 MB, and the cursor continues there without a gap',
    async (list) => {
      const { fill, id, path } = LARGE_LISTS[list] ?? { fill: async () => undefined, id: '', path: '' };
      await fill();
      const base = path === '' ? `/v1/runs/${runId}/steps?` : path;
      const seen: unknown[] = [];
      let cursor: string | null = null;
      let pages = 0;
      do {
        const { page, bytes } = await pageAt(`${base}limit=200${cursor === null ? '' : `&cursor=${cursor}`}`);
        expect(bytes).toBeLessThan(PAGE_BYTES * 1.01);
        expect(page.items.length).toBeGreaterThan(0);
        seen.push(...page.items.map((item) => item[id]));
        cursor = page.nextCursor;
        pages += 1;
      } while (cursor !== null);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.length).toBeGreaterThanOrEqual(ROWS);
      if (list !== 'GET /v1/runs') expect(pages).toBeGreaterThan(1); // previews are small
    },
  );

  it('S-4 a page has one row, however large, and then continues', async () => {
    const id = await start('Hello.');
    await api.database.db.query(
      `INSERT INTO run_step (run_id, seq, step) SELECT $1, 10 + n, json_build_object('type', 'message', 'parts',
         json_build_array(json_build_object('type', 'text', 'text', repeat('y', 3 * ${PAGE_BYTES}))))
       FROM generate_series(1, 2) AS n`,
      [id],
    );
    const first = await pageAt(`/v1/runs/${id}/steps`);
    expect(first.page.items.map(({ seq }) => seq)).toEqual([1, 2]);
    const second = await pageAt(`/v1/runs/${id}/steps?cursor=${first.page.nextCursor}`);
    expect(second.page.items.map(({ seq }) => seq)).toEqual([11]);
    const third = await pageAt(`/v1/runs/${id}/steps?cursor=${second.page.nextCursor}`);
    expect([third.page.items.map(({ seq }) => seq), third.page.nextCursor]).toEqual([[12], null]);
  });
});

describe('a run with many large messages', () => {
  it('S-4 is returned with the newest ones, up to 1 MB: as a task and in its conversation', async () => {
    const id = await start('Hello.', 'many');
    await start('Again.', 'many');
    await api.database.db.query(
      `INSERT INTO run_step (run_id, seq, step) SELECT $1, 100 + n, json_build_object('type', 'message', 'messageId', 'm' || n, 'parts',
         json_build_array(json_build_object('type', 'text', 'text', repeat('y', 100000)))) FROM generate_series(1, 30) AS n`,
      [id],
    );
    const task = await api.call<{ history: { messageId: string }[] }>('GET', `/a2a/agents/echo/tasks/${id}`, {
      headers: { 'a2a-version': '1.0' },
    });
    const ids = task.body.history.map(({ messageId }) => messageId);
    expect([ids.length, ids.at(-1)]).toEqual([11, 'm30']);
    const { page } = await pageAt('/v1/conversations/many?limit=1');
    const older = await pageAt(`/v1/conversations/many?limit=1&cursor=${page.nextCursor}`);
    expect(older.page.items.map((run) => run['id'])).toEqual([id]);
    expect(older.bytes).toBeLessThan(1.2 * PAGE_BYTES);
    expect(older.page.nextCursor).toBeNull();
  });
});

describe('the export of a run', () => {
  it('S-4 is streamed, ends at about 64 MB, and says that steps are missing', async () => {
    const id = await start('Hello.');
    const whole = await api.call<{ steps: unknown[]; truncated: boolean }>('GET', `/v1/runs/${id}/export`);
    expect(whole.body).toMatchObject({ run: { id }, truncated: false });
    const megabyte = 1_024 * 1_024;
    await api.database.db.query(
      `INSERT INTO run_step (run_id, seq, step) SELECT $1, 100 + n, json_build_object('type', 'message', 'parts',
         json_build_array(json_build_object('type', 'text', 'text', repeat('y', ${megabyte})))) FROM generate_series(1, 70) AS n`,
      [id],
    );
    const { status, body } = await api.call<{ steps: unknown[]; truncated: boolean }>('GET', `/v1/runs/${id}/export`);
    expect([status, body.truncated]).toEqual([200, true]);
    expect(body.steps.length).toBeGreaterThan(whole.body.steps.length + 60);
    expect(body.steps.length).toBeLessThan(whole.body.steps.length + 70);
  });

  it('S-4 of an unknown run is 404', async () => {
    expect(await api.call('GET', '/v1/runs/missing/export')).toMatchObject({ status: 404 });
  });
});

describe('a list of 200 runs with inputs of 150 KB', () => {
  const ids = new Set<string>();
  const rpc = async (path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> =>
    await api.call('POST', path, { body, headers });

  beforeAll(async () => {
    for (let at = 0; at < 200; at += 10)
      for (const id of await Promise.all(Array.from({ length: 10 }, async () => await start(text('Review')))))
        ids.add(id);
  });

  it('S-4 REST returns previews, in one small page, and the contents of one run', async () => {
    const { page, bytes } = await pageAt('/v1/runs?definition=echo&limit=200');
    expect(bytes).toBeLessThan(400_000);
    expect(page.items).toHaveLength(200);
    const [newest] = page.items;
    expect(newest).toMatchObject({
      state: 'completed',
      inputPreview: { text: text('Review').slice(0, 200), parts: 1, truncated: true },
      resultPreview: { parts: 1, truncated: true },
    });
    expect(newest).not.toHaveProperty('input');
    expect(newest).not.toHaveProperty('result');
    const { body } = await api.call('GET', `/v1/runs/${String(newest?.['id'])}`);
    expect(body).toMatchObject({
      input: [{ type: 'text', text: text('Review') }],
      result: { parts: [{ type: 'text' }] },
    });
  });

  it('S-4 A2A returns previews in ListTasks, also with artifacts and the history, and the contents in GetTask', async () => {
    const query = 'pageSize=100&includeArtifacts=true&historyLength=10';
    const { status, body } = await api.call<{ tasks: Record<string, unknown>[]; nextPageToken: string }>(
      'GET',
      `/a2a/agents/echo/tasks?${query}`,
      { headers: { 'a2a-version': '1.0' } },
    );
    expect(status).toBe(200);
    expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(400_000);
    expect(body.tasks).toHaveLength(100);
    expect(body.nextPageToken).not.toBe('');
    const [task] = body.tasks;
    expect(JSON.stringify(task)).toContain('"truncated":true');
    expect(task).toMatchObject({
      artifacts: [{ parts: [{ text: expect.stringMatching(/^.{200}$/) }] }],
      history: [{ parts: [{ text: text('Review').slice(0, 200) }] }],
    });
    const whole = await api.call('GET', `/a2a/agents/echo/tasks/${String(task?.['id'])}`, {
      headers: { 'a2a-version': '1.0' },
    });
    expect(JSON.stringify(whole.body).length).toBeGreaterThan(2 * CHARS);
  });

  it('S-4 MCP has no list with contents of runs: the list of resources has only addresses, and one run has its contents', async () => {
    const listed = rawRequest('resources/list');
    const list = await rpc('/mcp', listed.body, listed.headers);
    expect(list.status).toBe(200);
    expect(JSON.stringify(list.body).length).toBeLessThan(100_000);
    const agents = rawRequest('resources/read', { uri: 'rollcall://agents' });
    expect(JSON.stringify((await rpc('/mcp', agents.body, agents.headers)).body).length).toBeLessThan(2 * PAGE_BYTES);
    const one = rawRequest('resources/read', { uri: `rollcall://runs/${[...ids][0] ?? ''}` });
    expect(JSON.stringify((await rpc('/mcp', one.body, one.headers)).body).length).toBeGreaterThan(2 * CHARS);
  });
});

describe('the previews that are stored', () => {
  const previews = async (): Promise<Record<string, unknown>[]> =>
    (await pageAt('/v1/runs?limit=200')).page.items.map(({ id, inputPreview, resultPreview }) => ({
      id,
      inputPreview,
      resultPreview,
    }));

  it('S-4 a database of an older version works: small contents have the same previews, large ones only their size', async () => {
    const small = new Set([
      await start('A short question with a 😀 and a \\ and a "quote".'),
      await start('Another one.'),
    ]);
    const isSmall = ({ id }: Record<string, unknown>): boolean => small.has(String(id));
    const before = await previews();
    await api.database.db.query('UPDATE run SET input_preview = NULL, result_preview = NULL');
    const after = await previews();
    expect(after.filter(isSmall)).toEqual(before.filter(isSmall));
    expect(after).toHaveLength(200);
    expect(after.find((one) => !isSmall(one))).toMatchObject({
      inputPreview: { text: '', bytes: expect.any(Number), truncated: true },
      resultPreview: { text: '', bytes: expect.any(Number), truncated: true },
    });
  });

  it('S-4 a text of an older version that Postgres cannot convert does not break a list', async () => {
    const id = await start('Hello.');
    await api.database.db.query(
      `UPDATE run SET input_preview = NULL, result_preview = NULL, input = $1::json, result = $2::json WHERE id = $3`,
      [
        '[{"type":"text","text":"a\\u0000b\\ud800"},{"type":"data","data":{"x":"\\udc00"}}]',
        '{"parts":[],"reason":"budget","detail":"out\\u0000","error":{"code":"X","message":"m\\u0000"}}',
        id,
      ],
    );
    expect((await previews())[0]).toMatchObject({
      inputPreview: { text: 'a\ufffdb\uf800', parts: 2, truncated: true },
      resultPreview: { text: '', parts: 0, reason: 'budget', detail: 'out\ufffd' },
    });
  });
});
