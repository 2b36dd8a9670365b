import type { RegistryEvent } from '#rollcall/platform';
import { readAll, type TestDatabase, testDatabase } from '#rollcall/platform/testing';
import { HOSTILE_SCHEMAS } from '../testing/hostile.schemas.js';
import { type TestRuntime, testRuntime } from '../testing/index.js';
import type { DefinitionInvalidError } from './definition.errors.js';
import type { DefinitionDraft } from './definitions.service.js';

let database: TestDatabase;
let here: TestRuntime;
let there: TestRuntime;
/** How many events the tests before this one have logged. */
let earlier = 0;
beforeAll(async () => {
  database = await testDatabase();
  here = await testRuntime(database.db);
  there = await testRuntime(await database.connectAgain());
});
beforeEach(async () => {
  await database.db.query('TRUNCATE definition, definition_revision');
  earlier = 0;
  earlier = (await loggedEvents()).length;
});
afterAll(async () => await database.drop());

const KEY = { namespace: 'default', name: 'reviewer' };
const CONTENT = { description: 'Reviews code.', instructions: 'Review.' };
const draft = (content: object = {}, more: Partial<DefinitionDraft> = {}): DefinitionDraft => ({
  ...KEY,
  source: 'rest',
  by: 'key:test',
  content: { ...CONTENT, ...content },
  ...more,
});

async function loggedEvents(): Promise<RegistryEvent[]> {
  while ((await here.events.sequencer.runOnce()).moved > 0);
  return (await readAll(here.events)).slice(earlier);
}

async function messagesOf(content: object): Promise<string[]> {
  const error: unknown = await here.definitions.register(draft(content)).catch((reason: unknown) => reason);
  return (error as DefinitionInvalidError).details.errors.map(({ message }) => message);
}

describe('registration', () => {
  it('S4.1 S4.2 a registered definition is found, on every replica, with its defaults', async () => {
    expect(await there.definitions.has(KEY)).toBe(false);
    const registered = await here.definitions.register(draft());
    expect(registered).toMatchObject({ ...KEY, revision: 1, source: 'rest', createdBy: 'key:test' });
    expect(registered.content).toEqual({ ...CONTENT, provider: 'native' });
    expect(await there.definitions.get(KEY)).toEqual(registered);
    expect(await there.definitions.has(KEY)).toBe(true);
  });

  it('S0.1 an empty name, an invalid name and a taken name are rejected, with a proposed name', async () => {
    const named = async (name: string): Promise<unknown> => await here.definitions.register(draft({}, { name }));
    await expect(named('')).rejects.toMatchObject({ code: 'DEFINITION_NAME_INVALID' });
    await expect(named('Code Reviewer')).rejects.toMatchObject({
      code: 'DEFINITION_NAME_INVALID',
      details: { proposed: 'code-reviewer' },
    });
    await here.definitions.register(draft());
    await expect(there.definitions.register(draft())).rejects.toMatchObject({ code: 'DEFINITION_EXISTS' });
  });

  it('S0.1 if two replicas register the same name at the same time, exactly one registration succeeds', async () => {
    const both = [here, there].flatMap((one) => [one, one, one]);
    const results = await Promise.allSettled(both.map(async (one) => await one.definitions.register(draft())));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'DEFINITION_EXISTS' });
    expect(await here.definitions.revisions(KEY, 10)).toHaveLength(1);
    expect(await loggedEvents()).toHaveLength(1);
  });

  it('S4.4 the error for an unknown definition suggests a similar name', async () => {
    await here.definitions.register(draft({}, { name: 'release-notes' }));
    const get = async (name: string): Promise<unknown> => await here.definitions.get({ ...KEY, name });
    await expect(get('relase-notes')).rejects.toThrow(/relase-notes.* \(did you mean release-notes\?\)\. GET/);
    await expect(get('other')).rejects.not.toThrow('did you mean');
  });

  it('S0.9 two registries in one process share nothing', async () => {
    const other = await testDatabase();
    const { definitions } = await testRuntime(other.db);
    await here.definitions.register(draft());
    expect(await definitions.has(KEY)).toBe(false);
    await other.drop();
  });

  it('S4.1 S4.4 all problems are reported at once, with suggestions', async () => {
    const unknown = { instrutions: '', maxIterations: 0, skills: [{ name: 'a', mode: 'always' }] };
    expect(await messagesOf({ ...unknown, description: '' })).toHaveLength(4);
    expect(await messagesOf({ instrutions: '' })).toEqual([
      'instrutions is not a known field (did you mean instructions?)',
    ]);
    const references = { provider: 'nativ', model: 'sonet', tools: ['clok', 'recall'], disallowedTools: ['shell_9'] };
    const approve = { recal: 'operator', clock: 'caller' };
    expect(await messagesOf({ ...references, approve, skills: [{ name: 'release-note' }] })).toEqual([
      'provider: there is no agent provider "nativ" (did you mean native?)',
      'model: there is no model preset or alias "sonet" (did you mean sonnet?)',
      'tools: there is no tool "clok" (did you mean clock?)',
      'disallowedTools: there is no tool "shell_9"',
      'approve: there is no tool "recal" (did you mean recall?)',
      'skills: there is no skill "release-note" (did you mean release-notes?)',
    ]);
    expect(await here.definitions.has(KEY)).toBe(false);
  });

  it('S4.1 S4.4 problems of form and unknown names are reported together', async () => {
    const wrong = { description: ' ', maxIterations: 'ten', provider: 5, settings: {}, whenBusy: 'wait' };
    expect(await messagesOf({ ...wrong, tools: ['clokc', 5, 'clock'], model: 'sonet' })).toEqual([
      'description must not be blank',
      'provider must be a string',
      'tools.1 must be a string',
      'maxIterations must be a number',
      'whenBusy must be one of queue, reject',
      'model: there is no model preset or alias "sonet" (did you mean sonnet?)',
      'tools: there is no tool "clokc" (did you mean clock?)',
    ]);
    expect(await messagesOf({ description: undefined, maxIterations: 0, outputSchema: { $ref: 'other' } })).toEqual([
      'description is required',
      'maxIterations must be at least 1',
      expect.stringContaining('outputSchema: ') as string,
    ]);
    const long = {
      description: 'x'.repeat(9_000),
      provider: '',
      tools: 5,
      mayAsk: 1,
      metadata: [],
      maxConcurrency: 1e6,
    };
    expect(await messagesOf(long)).toEqual([
      'description must have at most 8192 characters',
      'provider must not be empty',
      'tools must be a list',
      'maxConcurrency must be at most 10000',
      'mayAsk must be true or false',
      'metadata must be an object',
    ]);
  });

  it('S4.1 the same name twice in a list is rejected', async () => {
    const skills = [{ name: 'release-notes' }, { name: 'release-notes', mode: 'preload' }];
    const lists = { tools: ['clock', 'clock', 'recall'], disallowedTools: ['recall', 'recall'], subagents: ['a', 'a'] };
    expect(await messagesOf({ ...lists, skills })).toEqual([
      'tools contains "clock" twice',
      'disallowedTools contains "recall" twice',
      'skills contains "release-notes" twice',
      'subagents contains "a" twice',
    ]);
  });

  it('S4.1 content that cannot be stored, settings of native and an unusable output schema are rejected', async () => {
    expect(await messagesOf({ metadata: { note: 'a\0b' } })).toEqual([
      expect.stringContaining('NUL character') as string,
    ]);
    expect(await messagesOf({ metadata: { note: 'x'.repeat(300_000) } })).toHaveLength(1);
    expect(await messagesOf({ settings: {}, outputSchema: { pattern: String.raw`(a)\1` } })).toEqual([
      expect.stringContaining('settings: the provider native has no settings') as string,
      expect.stringContaining('outputSchema: ') as string,
    ]);
  });

  it('S4.1 the settings of a provider are checked, and all problems are reported with the others', async () => {
    expect(await messagesOf({ provider: 'http', settings: {} })).toEqual(['settings.url is required']);
    expect(await messagesOf({ provider: 'http' })).toEqual(['settings.url is required']);
    const settings = { url: 'agent', key: 'x', credential: { env: 'key', scheme: 5 } };
    expect(await messagesOf({ provider: 'http', settings, tools: ['clokc'] })).toEqual([
      'tools: there is no tool "clokc" (did you mean clock?)',
      'settings.url must be a URL',
      'settings.credential.env must be the name of an environment variable, such as MY_API_KEY',
      'settings.credential.scheme must be a string',
      'settings.key is not a known field',
    ]);
    const content = { provider: 'http', settings: { url: 'http://agent.example' } };
    expect(await here.definitions.register(draft(content))).toMatchObject({ content });
  });

  it('S4.7 a model is a preset, an alias, inherit, null, or an inline choice', async () => {
    const models = [
      'small',
      'sonnet',
      'opus',
      'inherit',
      null,
      { vendor: 'scripted', model: 'two' },
      { preset: 'small' },
    ];
    for (const [index, model] of models.entries())
      expect(await here.definitions.register(draft({ model }, { name: `m-${index}` }))).toMatchObject({
        content: { model },
      });
    expect(await messagesOf({ model: { vendor: 'scriptd', model: 'two' } })).toEqual([
      'model.vendor: there is no model vendor "scriptd" (did you mean scripted?)',
    ]);
    expect(await messagesOf({ model: { vendor: 'scripted', model: 'two', keyEnv: 'KEY' } })).toHaveLength(1);
  });

  it('S-2 definitions of code, configuration and files cannot contain a hostile output schema', async () => {
    for (const { name, schema } of HOSTILE_SCHEMAS.filter((one) => one.isRejected)) {
      const content = { ...CONTENT, outputSchema: schema };
      const refused = { name, error: { code: 'DEFINITION_INVALID' } };
      for (const check of ['strict', 'lenient'] as const) {
        const checked: Promise<unknown> = here.validator[check](content, 'default');
        expect({ name, error: await checked.catch((error: unknown) => error) }).toMatchObject(refused);
      }
    }
  });

  it('S4.2 lenient validation drops unknown names with warnings, and rejects other problems', async () => {
    const foreign = { color: 'red', model: 'gpt', tools: ['Read'], skills: [{ name: 'absent' }] };
    const { content, warnings } = await here.validator.lenient({ ...CONTENT, ...foreign }, 'default');
    expect(content).toEqual({ ...CONTENT, provider: 'native', tools: [], skills: [] });
    expect(warnings.map(({ field }) => field)).toEqual(['color', 'model', 'tools', 'skills']);
    const denied = { disallowedTools: ['mcp__*'] };
    expect(await here.validator.lenient({ ...CONTENT, ...denied }, 'default')).toMatchObject({
      content: denied,
      warnings: [],
    });
    await expect(here.validator.lenient({ ...CONTENT, provider: 'nativ' }, 'default')).rejects.toThrow(
      'did you mean native?',
    );
  });
});

describe('replacement and removal', () => {
  it('S0.2 only an existing definition is replaced; each change adds a revision, and equal content adds none', async () => {
    await expect(here.definitions.replace(draft())).rejects.toMatchObject({ code: 'DEFINITION_NOT_FOUND' });
    const first = await here.definitions.register(draft({ metadata: { a: 1, b: 2 } }));
    const same = await there.definitions.replace(draft({ metadata: { b: 2, a: 1 } }));
    expect(same).toEqual(first);
    expect(await there.definitions.replace(draft({ maxIterations: 5 }))).toMatchObject({ revision: 2 });
    expect(await here.definitions.revision(KEY, 1)).toEqual(first);
    expect((await here.definitions.revisions(KEY, 10)).map(({ revision }) => revision)).toEqual([2, 1]);
    expect(await here.definitions.revisions(KEY, 10, 2)).toEqual([first]);
    expect(await here.definitions.diff(KEY, 1, 2)).toEqual([
      { field: 'maxIterations', after: 5 },
      { field: 'metadata', before: { a: 1, b: 2 } },
    ]);
    await expect(here.definitions.diff(KEY, 1, 3)).rejects.toMatchObject({ code: 'DEFINITION_REVISION_NOT_FOUND' });
  });

  it('S0.2 if two replacements expect the same revision, only one succeeds', async () => {
    await here.definitions.register(draft());
    const results = await Promise.allSettled([
      here.definitions.replace(draft({ maxIterations: 1 }), 1),
      there.definitions.replace(draft({ maxIterations: 2 }), 1),
    ]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'DEFINITION_CHANGED', details: { revision: 2 } },
    });
  });

  it('S0.2 concurrent replacements without an expected revision all succeed, with different numbers', async () => {
    await here.definitions.register(draft());
    const all = await Promise.all(
      [1, 2, 3, 4].map(
        async (maxIterations) => await (maxIterations % 2 ? here : there).definitions.replace(draft({ maxIterations })),
      ),
    );
    expect(new Set(all.map(({ revision }) => revision))).toEqual(new Set([2, 3, 4, 5]));
  });

  it('S0.6 a removed definition is not found, its revisions remain, and a new definition continues the revision numbers', async () => {
    await here.definitions.register(draft());
    await there.definitions.unregister({ ...KEY, source: 'rest', by: 'key:test' });
    expect(await here.definitions.has(KEY)).toBe(false);
    await expect(here.definitions.unregister({ ...KEY, source: 'rest', by: 'key:test' })).rejects.toMatchObject({
      code: 'DEFINITION_NOT_FOUND',
    });
    expect(await here.definitions.revision(KEY, 1)).toMatchObject({ content: CONTENT });
    expect(await here.definitions.revisions(KEY, 10)).toMatchObject([{ revision: 1 }]);
    expect(await here.definitions.revisions(KEY, 10, 1)).toEqual([]);
    expect(await here.definitions.diff(KEY, 1, 1)).toEqual([]);
    const missing = { ...KEY, name: 'missing' };
    await expect(here.definitions.revisions(missing, 10)).rejects.toMatchObject({ code: 'DEFINITION_NOT_FOUND' });
    await expect(here.definitions.diff(missing, 1, 1)).rejects.toMatchObject({ code: 'DEFINITION_NOT_FOUND' });
    expect(await here.definitions.register(draft())).toMatchObject({ revision: 2 });
  });

  it('S0.2 S0.6 events are in the log, and listeners of the replica are called after the commit', async () => {
    const changed: string[] = [];
    here.definitions.onChanged((namespace, name) => changed.push(`${namespace} ${name}`));
    await here.definitions.register(draft({ capabilities: ['build'] }));
    expect(changed).toEqual([]);
    await database.db.transaction(async () => {
      await here.definitions.replace(draft({ capabilities: ['test'] }));
      expect(changed).toEqual([]);
    });
    await here.definitions.unregister({ ...KEY, source: 'rest', by: 'key:test' });
    expect(changed).toEqual(['default reviewer', 'default reviewer']);
    const events = await loggedEvents();
    expect(events.map(({ type, data }) => [type, (data as { revision: number }).revision])).toEqual([
      ['definition.registered', 1],
      ['definition.replaced', 2],
      ['definition.unregistered', 2],
    ]);
    expect(events[0]).toMatchObject({ namespace: 'default', subject: 'reviewer', capabilities: ['build'] });
  });

  it('S0.7 a definition of the deployment cannot be changed over REST', async () => {
    await here.definitions.register(draft({}, { source: 'config' }));
    const refused = { code: 'DEFINITION_CONFIGURED' };
    await expect(here.definitions.register(draft())).rejects.toMatchObject(refused);
    await expect(here.definitions.replace(draft({ maxIterations: 1 }))).rejects.toMatchObject(refused);
    await expect(here.definitions.unregister({ ...KEY, source: 'rest', by: 'a' })).rejects.toMatchObject(refused);
    expect(await here.definitions.replace(draft({ maxIterations: 1 }, { source: 'config' }))).toMatchObject({
      revision: 2,
    });
  });
});

describe('lists', () => {
  it('S0.5 a list contains the definitions of one namespace, sorted by name, in pages', async () => {
    await here.namespaces.create('team-a', { description: null, limits: {} }, 'test');
    for (const name of ['b', 'B', 'a', 'a-1']) await here.definitions.register(draft({}, { name }));
    await here.definitions.register(draft({}, { namespace: 'team-a', name: 'c' }));
    const names = async (...page: [number, string?]): Promise<string[]> =>
      (await there.definitions.list('default', ...page)).map(({ name }) => name);
    expect(await names(10)).toEqual(['B', 'a', 'a-1', 'b']);
    expect(await names(2, 'a')).toEqual(['a-1', 'b']);
  });

  it('S0.5 the capabilities of a definition are sorted and in normal form, without invalid ones', async () => {
    await here.definitions.register(
      draft({ capabilities: ['Test', 'code.build', 'a,b', '.x', 'test', 'BAD CAP!!', 'C++'] }),
    );
    expect(await here.definitions.capabilities(KEY)).toEqual(['c++', 'code.build', 'test']);
  });

  it('S0.1 a namespace with definitions cannot be deleted, and a definition in a missing namespace is rejected', async () => {
    await here.namespaces.create('team-b', { description: null, limits: {} }, 'test');
    const key = { ...KEY, namespace: 'team-b' };
    await here.definitions.register(draft({}, key));
    await expect(there.namespaces.delete('team-b')).rejects.toMatchObject({
      code: 'NAMESPACE_NOT_EMPTY',
      details: { contains: { definitions: 1 } },
    });
    await here.definitions.unregister({ ...key, source: 'rest', by: 'key:test' });
    await there.namespaces.delete('team-b');
    await expect(here.definitions.register(draft({}, key))).rejects.toMatchObject({ code: 'NAMESPACE_NOT_FOUND' });
  });
});
