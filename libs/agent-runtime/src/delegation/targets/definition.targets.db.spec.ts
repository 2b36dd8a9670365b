import { given } from '#rollcall/registry/testing';
import { Logger } from '@nestjs/common';
import { type TestDatabase, testDatabase } from '#rollcall/platform/testing';
import { type AgentConfig, type AgentResult, message, type ModelRequest, Secret } from '#rollcall/providers';
import { callTool, callTools, say, ScriptedModel, type Step } from '#rollcall/providers/testing';
import { answers, fails, FakeAgent } from '../../testing/fake.agent.js';
import { type TestRuntime, testRuntime } from '../../testing/index.js';
import { aRun } from '../../testing/tool-calls.js';

const KEY = 'sk-0123456789';

type Script = (request: ModelRequest, call: number) => Step;

let database: TestDatabase;
let here: TestRuntime;
/** The models that were opened in a test, by name. */
let opened: Map<string, ScriptedModel[]>;
let scripts: Record<string, Script>;

beforeAll(async () => {
  Logger.overrideLogger(false);
  database = await testDatabase();
  here = await testRuntime(database.db, {
    secrets: (name) => (name === 'OPENAI_API_KEY' ? new Secret(KEY) : undefined),
  });
  here.events.start();
  await here.namespaces.create('team-a', { description: null, limits: {} }, 'key:test');
  here.vendors.register({
    name: 'test',
    needsKey: false,
    open: ({ model }) => {
      const made = new ScriptedModel((request, call) =>
        (scripts[model] ?? (() => say(`I am ${model}.`)))(request, call),
      );
      opened.set(model, [...(opened.get(model) ?? []), made]);
      return made;
    },
  });
});
beforeEach(async () => {
  await database.db.query('TRUNCATE definition, definition_revision');
  [opened, scripts] = [new Map(), {}];
});
afterAll(async () => {
  await here.events.stop();
  await database.drop();
});

async function define(name: string, content: object = {}, namespace = 'default'): Promise<void> {
  const whole = { description: `The agent ${name}.`, model: { vendor: 'test', model: name }, ...content };
  await here.definitions.register({ namespace, name, content: whole, source: 'rest', by: 'key:test' });
}

/** Runs the agent of a definition with this script. */
async function run(name: string, script: Script, namespace = 'default'): Promise<AgentResult> {
  scripts[name] = script;
  const { content } = await here.definitions.get({ namespace, name });
  const agent = await here.builder.build(name, content, { namespace });
  for await (const event of agent.handle(message('Begin.'))) if (event.type === 'finished') return event.result;
  throw new Error('no result');
}

const requestsTo = (model: string): ModelRequest[] =>
  (opened.get(model) ?? []).flatMap(({ calls }) => calls.map(({ request }) => request));
const toolsOf = (model: string): string[] => (requestsTo(model)[0]?.tools ?? []).map(({ name }) => name);

/** The outputs of the tool calls in the last request to the model. */
function outputsOf(model: string): string[] {
  const last = requestsTo(model).at(-1)?.messages.at(-1);
  return last?.role === 'tool' ? last.content.map(({ output }) => output) : [];
}

const once =
  (step: Step): Script =>
  (_request, call) =>
    call === 1 ? step : say('Ended.');
const spawn = (subagent: string): Step => callTool('spawn_subagent', { subagent, prompt: 'Do it.' });
const list = once(callTool('list_agents', {}));

describe('definitions as targets of a delegation', () => {
  it('S4.8 S2.3 spawn_subagent builds a new agent of the definition for each call', async () => {
    await define('boss');
    await define('helper');
    const calls = ['c1', 'c2'].map((id): [string, unknown, string] => [
      'spawn_subagent',
      { subagent: 'helper', prompt: 'Do it.' },
      id,
    ]);
    expect(await run('boss', once(callTools(...calls)))).toMatchObject({ outcome: 'completed' });
    const answer = '<agent_output agent="helper" outcome="completed">\nI am helper.\n</agent_output>';
    expect(outputsOf('boss')).toEqual([expect.stringContaining(answer), expect.stringContaining(answer)]);
    expect(opened.get('helper')).toHaveLength(2);
  });

  it('S4.8 agents of other providers can be called, and each agent is shut down after its call', async () => {
    const made: FakeAgent[] = [];
    const createAgent = async ({ name, settings }: AgentConfig): Promise<FakeAgent> => {
      made.push(new FakeAgent(name, () => answers(JSON.stringify(settings))));
      return made.at(-1) ?? (await Promise.reject(new Error('no agent')));
    };
    here.providers.register({ name: 'fake', agentType: 'api', createAgent });
    await define('boss');
    await define('helper', { provider: 'fake', model: null, settings: { speed: 3 } });
    await run('boss', once(spawn('helper')));
    expect(outputsOf('boss')).toEqual([expect.stringContaining('{"speed":3}')]);
    expect(made.map(({ isShutDown }) => isShutDown)).toEqual([true]);
  });

  it('S2.4 list_agents lists the definitions of the namespace, except the definition of the caller', async () => {
    await define('boss', {}, 'team-a');
    await define('helper', {}, 'team-a');
    await define('stranger');
    await run('boss', list, 'team-a');
    const [output = ''] = outputsOf('boss');
    expect(output).toContain('{"name":"helper","description":"The agent helper."}');
    expect(output).not.toMatch(/boss|stranger/);
    await run('boss', once(spawn('stranger')), 'team-a');
    expect(outputsOf('boss')).toEqual([expect.stringContaining('There is no agent stranger')]);
  });

  it('S2.4 a name that no definition can have is unknown', async () => {
    await define('boss');
    await run('boss', once(spawn('nul\0 and more')));
    expect(outputsOf('boss')).toEqual([expect.stringContaining('There is no agent')]);
  });

  it('S2.4 finds a definition by its capabilities or by more general ones, and skips ancestors', async () => {
    await define('boss', { capabilities: ['code.review'] });
    await define('helper', { capabilities: ['Code.Review', 'write'] });
    const wanted = (capabilities: string[]): Script =>
      once(callTool('delegate_to_agent', { capabilities, task: 'Do it.' }));
    await run('boss', wanted(['write', 'code']));
    expect(outputsOf('boss')).toEqual([expect.stringContaining('I am helper.')]);
    await run('boss', wanted(['write', 'paint']));
    expect(outputsOf('boss')).toEqual([expect.stringContaining('No other agent with the capabilities write, paint')]);
  });

  it('M-5 prefer decides between definitions and live agents: by price, and in turn', async () => {
    await define('boss');
    const chosen = async (prefer: string): Promise<string> => {
      await run('boss', once(callTool('delegate_to_agent', { capabilities: ['forge'], prefer, task: 'Do it.' })));
      return /agent="(\w+)"/.exec(outputsOf('boss')[0] ?? '')?.[1] ?? String(outputsOf('boss'));
    };
    const costModel = { usdPerTask: 0.1, usdPer1kTokens: null };
    const endpoint = 'http://127.0.0.1:9/unused';
    await here.agents.register({
      namespace: 'default',
      agentId: 'outsider',
      leaseToken: null,
      by: 'key:test',
      facts: given.registration({ name: 'outsider', endpoint, capabilities: ['forge'], costModel }),
    });
    await define('insider', { capabilities: ['forge'], costModel: { usdPerTask: 0.5 } });
    expect(await chosen('cheapest')).toBe('outsider');
    await here.definitions.replace({
      namespace: 'default',
      name: 'insider',
      content: {
        description: 'x',
        model: { vendor: 'test', model: 'insider' },
        capabilities: ['forge'],
        costModel: { usdPerTask: 0.05 },
      },
      source: 'rest',
      by: 'key:test',
    });
    expect(await chosen('cheapest')).toBe('insider');
    expect([await chosen('round-robin'), await chosen('round-robin')].toSorted()).toEqual(['insider', 'outsider']);
  });

  it('S2.3 a factory is preferred to a definition with the same name', async () => {
    await define('boss');
    await define('helper');
    const made = new FakeAgent('helper');
    here.delegation.factories.register('helper', 'From code.', () => made);
    await run('boss', once(spawn('helper')));
    here.delegation.factories.unregister('helper');
    expect([made.calls.length, opened.has('helper')]).toEqual([1, false]);
  });

  it('S2.5 an agent of a definition cannot delegate back to its parent', async () => {
    await define('boss');
    await define('helper');
    scripts['helper'] = once(spawn('boss'));
    await run('boss', once(spawn('helper')));
    expect(outputsOf('helper')).toEqual([expect.stringContaining('boss has delegated this task')]);
  });

  it('S2.2 the error of a tool contains no key of the installation', async () => {
    await define('boss');
    here.delegation.factories.register('leaky', 'Fails.', () => new FakeAgent('leaky', () => fails(`401 for ${KEY}`)));
    await run('boss', once(spawn('leaky')));
    here.delegation.factories.unregister('leaky');
    expect(outputsOf('boss')).toEqual([expect.stringContaining('401 for [secret]')]);
  });

  it('S4.8 a call fails if the definition cannot be built', async () => {
    await define('boss');
    await define('helper', { model: { vendor: 'scripted', model: 'no-such-script' } });
    await run('boss', once(spawn('helper')));
    expect(outputsOf('boss')).toEqual([expect.stringContaining('outcome="failed"')]);
  });
});

describe('an agent of a definition', () => {
  it('S4.1 may ask its caller a question only if the definition allows it', async () => {
    const ask = once(callTool('ask_caller', { question: 'Which one?' }));
    await define('silent');
    await define('curious', { mayAsk: true, tools: ['clock'] });
    expect(await run('silent', ask)).toMatchObject({ outcome: 'completed' });
    expect(outputsOf('silent')).toEqual([expect.stringContaining('ask_caller')]);
    expect(await run('curious', ask)).toMatchObject({ outcome: 'input-required' });
  });

  it('S4.4 has exactly the tools that its definition allows, and does not inherit the tools of its parent', async () => {
    await define('boss');
    await define('helper', { tools: ['clock', 'recall', 'list_agents'], disallowedTools: ['recall'] });
    await run('boss', once(spawn('helper')));
    expect(toolsOf('helper')).toEqual(['clock', 'list_agents']);
    expect(toolsOf('boss')).toEqual(expect.arrayContaining(['clock', 'recall', 'spawn_subagent']));
    await define('nothing', { tools: [] });
    await run('nothing', () => say('Ended.'));
    expect(toolsOf('nothing')).toEqual([]);
  });

  it('S4.5 S2.7 has its preloaded skills in the system prompt, and reads the others with a tool', async () => {
    await define('boss', { skills: [{ name: 'release-notes', mode: 'preload' }], tools: [] });
    await define('reader', { skills: [{ name: 'release-notes', mode: 'catalog' }], tools: ['activate_skill'] });
    await run('boss', () => say('Ended.'));
    await run('reader', () => say('Ended.'));
    const [boss, reader] = ['boss', 'reader'].map((name) => JSON.stringify(requestsTo(name)[0]?.messages[0]));
    expect(boss).toContain('<skill_content');
    expect([reader?.includes('<skill_content'), reader?.includes('release-notes')]).toEqual([false, true]);
    expect([toolsOf('boss'), toolsOf('reader')]).toEqual([[], ['activate_skill']]);
  });
});

describe('the field subagents of a definition', () => {
  it('S4.8 restricts list_agents, delegation by name and delegation by capabilities', async () => {
    await define('boss', { subagents: ['helper', 'nobody'] });
    await define('helper', { capabilities: ['build'] });
    await define('denied', { capabilities: ['build', 'test'] });
    const tasks = [{ agent: 'denied', task: 'x' }];
    const script: Script = (_request, call) =>
      call === 1
        ? callTools(
            ['list_agents', {}, 'c1'],
            ['delegate_to_agent', { agent: 'denied', task: 'x' }, 'c2'],
            ['delegate_to_agent', { capabilities: ['test'], task: 'x' }, 'c3'],
            ['spawn_agents', { tasks }, 'c4'],
            ['spawn_subagent', { subagent: 'denied', prompt: 'x' }, 'c5'],
            ['delegate_to_agent', { capabilities: ['build'], task: 'x' }, 'c6'],
          )
        : say('Ended.');
    await run('boss', script);
    const [listed, byName, byCapability, spawned, subagent, allowed] = outputsOf('boss');
    expect(listed?.match(/"name":"\w+"/g)).toEqual(['"name":"helper"']);
    for (const output of [byName, spawned, subagent]) expect(output).toContain('There is no agent denied');
    expect(byCapability).toContain('No other agent');
    expect(allowed).toContain('I am helper.');
    expect(opened.has('denied')).toBe(false);
  });

  it('S4.8 withholds the delegation tools if it is an empty list, and permits all agents if it is absent', async () => {
    await define('alone', { subagents: [] });
    await define('boss');
    await run('alone', () => say('Ended.'));
    await run('boss', () => say('Ended.'));
    expect([toolsOf('alone').includes('spawn_subagent'), toolsOf('boss').includes('spawn_subagent')]).toEqual([
      false,
      true,
    ]);
  });
});

describe('the target of a definition', () => {
  it('B6 S2.4 has the wanted revision, or the current revision if none is wanted', async () => {
    await define('helper', { description: 'The first helper.' });
    const content = { description: 'The second helper.', model: { vendor: 'test', model: 'helper' } };
    const key = { namespace: 'default', name: 'helper' };
    await here.definitions.replace({ ...key, content, source: 'rest', by: 'key:test' });
    const { targets } = here.delegation.services;
    for (const [revision, used] of [
      [1, 1],
      [2, 2],
      [undefined, 2],
    ] as const) {
      const target = await targets?.open({ name: 'helper', ...(revision && { revision }) }, aRun());
      expect(target?.definition).toEqual({ name: 'helper', revision: used });
      await target?.close();
    }
    await expect(targets?.open({ name: 'helper', revision: 3 }, aRun())).rejects.toMatchObject({
      code: 'DEFINITION_REVISION_NOT_FOUND',
    });
  });
});

describe('what an agent of a definition inherits', () => {
  it.each([
    ['union', ['clock', 'recall', 'remember']],
    ['intersection', ['clock']],
  ])('S2.6 depends on the mode inheritTools of its definition: %s', async (inheritTools, expected) => {
    await define('boss', { tools: ['clock', 'spawn_subagent'] });
    await define('helper', { tools: ['clock', 'recall', 'remember'], inheritTools });
    await run('boss', once(spawn('helper')));
    expect(toolsOf('helper').toSorted()).toEqual(expected);
  });

  it('S4.7 the model inherit is the model of the parent, or the default preset if there is no parent', async () => {
    await define('boss');
    await define('middle', { model: 'inherit' });
    await define('helper', { model: 'inherit' });
    const script: Script = ({ messages }, call) =>
      call === 1 ? spawn('middle') : call === 2 ? spawn('helper') : say(`${messages.length} messages`);
    await run('boss', script);
    expect([opened.size, requestsTo('boss').length]).toEqual([1, 5]);
    const { content } = await here.definitions.get({ namespace: 'default', name: 'helper' });
    await expect(here.builder.build('helper', content, { namespace: 'default' })).rejects.toThrow(
      'There is no script one',
    );
  });

  it.each([
    ['inline', { vendor: 'test', model: 'helper' }, 'I am helper.'],
    ['a preset', 'small', 'There is no script one'],
    ['an alias', 'sonnet', 'There is no script one'],
    ['null, the default preset', null, 'There is no script one'],
  ])('S4.7 a model that is %s does not depend on the parent', async (_name, model, expected) => {
    await define('boss');
    await define('helper', { model });
    await run('boss', once(spawn('helper')));
    expect(outputsOf('boss')).toEqual([expect.stringContaining(expected)]);
  });
});
