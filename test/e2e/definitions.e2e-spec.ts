import { gzipSync } from 'node:zlib';
import { type Headers, pack } from 'tar-stream';
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
  it('S0.1 S4.1 registers a definition once, and returns all problems of an invalid definition', async () => {
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

  it('S0.2 sends the revision as ETag, which If-Match of a replacement accepts', async () => {
    const tagOf = ({ headers }: Answer): string => headers.get('etag') ?? '';
    expect(tagOf(await register('tagged'))).toBe('"1"');
    const tag = tagOf(await api.call('GET', `${PATH}/tagged`));
    const replaced = await replace('tagged', { maxIterations: 5 }, { 'if-match': tag });
    expect([replaced.status, tagOf(replaced)]).toEqual([200, '"2"']);
    expect(await replace('tagged', {}, { 'if-match': tag })).toMatchObject({ status: 412 });
  });

  it('S0.5 lists the definitions of the namespace by name, in pages, and returns their capabilities', async () => {
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

  it('S0.6 S0.7 removes a definition unless it comes from the configuration, and records changes in the audit log', async () => {
    await register('leaving');
    expect((await api.call('DELETE', `${PATH}/leaving`)).status).toBe(204);
    expect((await api.call('DELETE', `${PATH}/leaving`)).status).toBe(404);
    expect((await api.call('GET', `${PATH}/leaving/revisions`)).body).toMatchObject({ items: [{ revision: 1 }] });
    expect(await api.call('GET', `${PATH}/never/revisions`)).toMatchObject({
      status: 404,
      body: { code: 'DEFINITION_NOT_FOUND' },
    });
    await register('configured');
    await api.database.db.query(`UPDATE definition_revision SET source = 'config' WHERE name = 'configured'`);
    const refused = { status: 409, body: { code: 'DEFINITION_CONFIGURED' } };
    expect(await api.call('DELETE', `${PATH}/configured`)).toMatchObject(refused);
    expect(await replace('configured', { maxIterations: 1 })).toMatchObject(refused);
    expect(await register('configured')).toMatchObject(refused);
    const { body } = await api.call<{ items: { action: string }[] }>('GET', '/v1/audit');
    const actions = body.items.map(({ action }) => action);
    expect(actions).toEqual(expect.arrayContaining(['definition.registered', 'definition.unregistered']));
  });

  it('S4.7 M-3 explains which model, tools, skills, limits and budgets a definition uses', async () => {
    const content = {
      tools: ['clock', 'recall'],
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
    const misnamed = { ...preview, name: 'My Agent' };
    expect((await api.call('POST', `${PATH}/effective`, { body: misnamed })).body).toMatchObject({
      proposed: 'my-agent',
    });
  });

  it('S0.5 viewers may read definitions but not change them, and agents may not read them', async () => {
    const viewer = { key: await api.given.key('viewer') };
    expect((await api.call('GET', `${PATH}/reviewer`, viewer)).status).toBe(200);
    expect(await register('refused', {}, viewer)).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    expect((await api.call('GET', PATH, { key: await api.given.key('agent') })).status).toBe(403);
  });
});

describe('/v1/definition-imports', () => {
  const IMPORTS = '/v1/definition-imports';
  const spec = (name: string, more = ''): string => `---\nname: ${name}\ndescription: Imported.\n${more}---\nDo it.\n`;
  const importFiles = async (files: Record<string, string>, query = '', options: CallOptions = {}): Promise<Answer> => {
    const list = Object.entries(files).map(([path, content]) => ({ path, content }));
    return await api.call('POST', IMPORTS + query, { body: { files: list }, ...options });
  };

  async function archiveOf(entries: (Headers & { content?: string })[]): Promise<Buffer> {
    const tar = pack();
    for (const { content = '', ...header } of entries) tar.entry(header, content);
    tar.finalize();
    const chunks: Buffer[] = [];
    for await (const chunk of tar) chunks.push(chunk);
    return gzipSync(Buffer.concat(chunks));
  }

  const importArchive = async (archive: Buffer, path = IMPORTS): Promise<Answer> =>
    await api.call('POST', path, { body: new Uint8Array(archive), headers: { 'content-type': 'application/gzip' } });

  it('S4.2 S4.3 imports the correct files, reports each file, and creates no new revision when it is repeated', async () => {
    const files = {
      'good.md': spec('imported-good'),
      'warned.md': spec('imported-warned', 'tools: Read, clock\n'),
      'wrong.md': spec('Wrong Name'),
      'README.md': '# Agents',
      'map.json': '{ "imported-a": { "description": "A." }, "imported-b": {} }',
    };
    const { status, body } = await importFiles(files);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { dryRun: false, loaded: 3, warned: 2, rejected: 2, skipped: 1 },
    });
    expect(body['files']).toMatchObject([
      { path: 'good.md', definitions: [{ name: 'imported-good', change: 'registered' }], warnings: [], errors: [] },
      { path: 'warned.md', warnings: [{ line: 4, message: expect.stringContaining('Read') as string }], errors: [] },
      {
        path: 'wrong.md',
        definitions: [],
        errors: [{ line: 2, message: expect.stringContaining('wrong-name') as string }],
      },
      { path: 'README.md', definitions: [], errors: [] },
      { path: 'map.json', definitions: [{ name: 'imported-a' }], errors: [{ message: expect.any(String) as string }] },
    ]);
    const again = await importFiles({ 'good.md': spec('imported-good') });
    expect(again.body).toMatchObject({ files: [{ definitions: [{ change: 'unchanged' }] }] });
    const { body: log } = await api.call('GET', '/v1/audit?action=definition.imported');
    expect(log).toMatchObject({
      items: [{ details: { loaded: 1 } }, { details: { dryRun: false, loaded: 3, rejected: 2 } }],
    });
  });

  it('S4.2 imported definitions can be changed over REST, but an import cannot change definitions of the configuration', async () => {
    await importFiles({ 'a.md': spec('imported-changed') });
    expect(await replace('imported-changed', { maxIterations: 2 })).toMatchObject({
      body: { revision: 2, source: 'rest' },
    });
    expect((await importFiles({ 'a.md': spec('imported-changed') })).body).toMatchObject({
      files: [{ definitions: [{ change: 'replaced' }] }],
    });
    expect((await api.call('DELETE', `${PATH}/imported-changed`)).status).toBe(204);
    await register('deployed');
    await api.database.db.query(`UPDATE definition_revision SET source = 'config' WHERE name = 'deployed'`);
    expect((await importFiles({ 'a.md': spec('deployed') })).body).toMatchObject({
      rejected: 1,
      files: [{ definitions: [], errors: [{ line: 2, message: expect.stringContaining('source config') as string }] }],
    });
  });

  it('S4.3 reports all problems of a file at their lines, with suggestions', async () => {
    const { body } = await importFiles({ 'a.md': spec('imported-wrong', 'provider: nativ\nmaxTurns: 5000\n') });
    expect(body).toMatchObject({
      files: [
        {
          errors: [
            { line: 5, message: 'maxIterations must be at most 1000.' },
            { line: 4, message: 'provider: there is no agent provider "nativ" (did you mean native?).' },
          ],
        },
      ],
    });
  });

  it('S4.2 a path may begin with ./', async () => {
    expect((await importFiles({ './a.md': spec('imported-dot') })).body).toMatchObject({
      files: [{ path: 'a.md', definitions: [{ name: 'imported-dot' }] }],
    });
    const twice = await importFiles({ './a.md': spec('imported-dot'), 'a.md': spec('imported-dot') });
    expect(twice.body).toMatchObject({ errors: [{ field: 'files.1.path' }] });
  });

  it('an import rejects a file that is not an object, and names its path', async () => {
    for (const file of [null, [], [{ path: 'a.md', content: spec('imported-list') }], 'a.md']) {
      expect(await api.call('POST', IMPORTS, { body: { files: [file] } })).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_FAILED', errors: [{ field: 'files.0', message: 'files.0 must be an object' }] },
      });
    }
  });

  it('S4.3 a dry run changes nothing, and strict=true rejects files with warnings', async () => {
    const files = { 'a.md': spec('imported-dry', 'tools: Read\n') };
    expect((await importFiles(files, '?dryRun=true')).body).toMatchObject({
      dryRun: true,
      files: [{ definitions: [{ change: 'registered' }] }],
    });
    expect((await importFiles(files, '?strict=true')).body).toMatchObject({ loaded: 0, rejected: 1 });
    expect((await api.call('GET', `${PATH}/imported-dry`)).status).toBe(404);
    expect((await importFiles(files, '?strict=yes')).body).toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it('S4.2 imports an archive, but only the folder .claude/agents of a project', async () => {
    const archive = await archiveOf([
      { name: './.claude/agents/', type: 'directory' },
      { name: './.claude/agents/one.md', content: spec('archived') },
      { name: './.claude/agents/binary.md', content: 'a\0b' },
      { name: './docs/other.md', content: spec('not-an-agent') },
    ]);
    expect(await importArchive(archive)).toMatchObject({
      status: 200,
      body: {
        loaded: 1,
        rejected: 1,
        skipped: 1,
        files: [
          { path: '.claude/agents/one.md', definitions: [{ name: 'archived' }] },
          { errors: [{ message: 'The file is not a text.' }] },
          { path: 'docs/other.md', definitions: [] },
        ],
      },
    });
    expect(await importArchive(archive, PATH)).toMatchObject({ status: 415 });
  });

  it('S4.3 rejects links, paths that leave the folder, and archives that are too large or not complete', async () => {
    const link = await archiveOf([{ name: 'a.md', type: 'symlink', linkname: '/etc/passwd' }]);
    const large = await archiveOf([{ name: 'a.md', content: 'x'.repeat(5_000_000) }]);
    const refused = { status: 400, body: { code: 'ARCHIVE_INVALID' } };
    for (const archive of [link, large, Buffer.from('plain'), gzipSync(Buffer.alloc(700, 1))])
      expect(await importArchive(archive)).toMatchObject(refused);
    const cut = (await archiveOf([{ name: 'a.md', content: spec('cut') }])).subarray(0, -20);
    expect((await importArchive(cut)).body['detail']).toContain('The gzip data is incomplete or damaged.');
    const leaving = await archiveOf([{ name: '../a.md', content: spec('leaving') }]);
    expect(await importArchive(leaving)).toMatchObject({ status: 400, body: { errors: [{ field: 'files.0.path' }] } });
    for (const path of ['/a.md', 'a/../b.md', 'a\\b.md', ''])
      expect((await importFiles({ [path]: spec('leaving') })).body).toMatchObject({ code: 'VALIDATION_FAILED' });
    const many = JSON.stringify(
      Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`m${index}`, { description: 'x' }])),
    );
    expect(await importFiles({ 'a.json': many, 'b.json': many })).toMatchObject({
      status: 413,
      body: { code: 'DEFINITION_IMPORT_TOO_LARGE' },
    });
  });

  it('S-14 rejects an archive whose header has a size that is no number', async () => {
    const tar = pack();
    tar.entry({ name: 'a.md' }, spec('sized'));
    tar.finalize();
    const chunks: Buffer[] = [];
    for await (const chunk of tar) chunks.push(chunk);
    for (const size of [
      'zzzzzzzzzzz ',
      '-0000000001 ',
      `${String.fromCharCode(0x80)}${'\xff'.repeat(11)}`,
      '            ',
      '77777777777 ',
    ]) {
      const archive = Buffer.concat(chunks);
      archive.write(size, 124, 12, 'latin1');
      archive.write('        ', 148, 8, 'latin1'); // the sum of the header, with spaces as its own value
      const sum = archive.subarray(0, 512).reduce((total, byte) => total + byte, 0);
      archive.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 8, 'latin1');
      const { status, body } = await importArchive(gzipSync(archive));
      expect({ size, status, code: body['code'] }).toEqual({ size, status: 400, code: 'ARCHIVE_INVALID' });
    }
  });

  it('S-15 rejects a list in the place of a file', async () => {
    for (const files of [[[]], [[{}]], [null], [[[]], { path: 'a.md', content: 'x' }]])
      expect(await api.call('POST', IMPORTS, { body: { files } })).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_FAILED', errors: [{ field: 'files.0' }] },
      });
  });

  it('S4.2 imports and other changes at the same time leave consistent revisions', async () => {
    await register('contended');
    const changes = [1, 2, 3, 4].flatMap((maxTurns) => [
      importFiles({ 'a.md': spec('contended', `maxTurns: ${maxTurns}\n`) }),
      replace('contended', { maxIterations: 10 + maxTurns }),
      register(`contended-${maxTurns}`),
    ]);
    expect((await Promise.all(changes)).map(({ status }) => status).filter((status) => status >= 400)).toEqual([]);
    const { body } = await api.call<{ items: { revision: number }[] }>('GET', `${PATH}/contended/revisions`);
    expect(body.items.map(({ revision }) => revision)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
  });
});
