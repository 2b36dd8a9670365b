import { Logger } from '@nestjs/common';
import { definitions, WeatherReporter } from '../../../../../examples/agents/code-first.js';
import { type TestDatabase, testDatabase } from '#rollcall/platform/testing';
import { type AgentResult, message, type ModelRequest } from '#rollcall/providers';
import { callTool, say, ScriptedModel, type Step } from '#rollcall/providers/testing';
import { type TestRuntime, testRuntime, type TestRuntimeOptions } from '../../testing/index.js';

/** What the model of an agent does: one step for each call. The key is the beginning of the instructions of the agent. */
type Scripts = Record<string, readonly Step[]>;

const MODELS = { default: 'fast', presets: { fast: { vendor: 'test', model: 'fast' } } };

let database: TestDatabase;
let requests: ModelRequest[];
beforeAll(async () => {
  database = await testDatabase();
});
beforeEach(async () => {
  requests = [];
  await database.db.query('TRUNCATE definition, definition_revision');
});
afterAll(async () => await database.drop());

async function started(scripts: Scripts, options: TestRuntimeOptions): Promise<TestRuntime> {
  const runtime = await testRuntime(database.db, { models: MODELS, ...options });
  Logger.overrideLogger(false);
  const left = Object.entries(scripts).map(([instructions, steps]) => ({ instructions, steps: [...steps] }));
  runtime.vendors.register({
    name: 'test',
    needsKey: false,
    open: () =>
      new ScriptedModel((request) => {
        requests.push(request);
        const own = left.find(({ instructions }) => promptOf(request).includes(instructions));
        return own?.steps.shift() ?? say('The script has ended.');
      }),
  });
  await runtime.sources.onApplicationBootstrap();
  return runtime;
}

function promptOf({ messages }: ModelRequest): string {
  return JSON.stringify(messages[0]);
}

async function ask({ host }: TestRuntime, name: string): Promise<string> {
  const { agent, release } = await host.use({ namespace: 'default', name });
  let result: AgentResult | undefined;
  for await (const event of agent.handle(message('Begin.'))) if (event.type === 'finished') result = event.result;
  release();
  return JSON.stringify(result);
}

const spawn = (subagent: string): Step => callTool('spawn_subagent', { subagent, prompt: 'Do it.' });

describe('examples/agents', () => {
  it('S4.9 S4.1 code first: an agent that is defined in code delegates to an agent with a tool of its own class', async () => {
    const here = await started(
      {
        'You plan trips.': [spawn('weather-reporter'), say('Take no umbrella to Rome.')],
        'You report the weather.': [callTool('weather', { city: 'Rome' }), say('It is dry.')],
      },
      { definitions, providers: [WeatherReporter] },
    );
    expect(await ask(here, 'travel-planner')).toContain('Take no umbrella to Rome.');
    expect(JSON.stringify(requests)).toContain('Rome: 18 °C, dry');
    expect(await here.definitions.capabilities({ namespace: 'default', name: 'weather-reporter' })).toEqual([
      'weather.report',
    ]);
  });

  it('S4.9 S4.2 spec files: all agents of a folder are registered without warnings and answer', async () => {
    const files = { folder: 'examples/agents/spec-files', strict: true };
    const here = await started({ 'You review code.': [callTool('clock', {}), say('No problems.')] }, { files });
    expect((await here.definitions.list('default', 10)).map(({ name }) => name)).toEqual(['reviewer', 'translator']);
    expect(await ask(here, 'reviewer')).toContain('No problems.');
    expect(requests[0]?.tools?.map(({ name }) => name).toSorted()).toEqual(['clock', 'recall', 'remember']);
    expect(await ask(here, 'translator')).toContain('The script has ended.');
  });

  it('S4.9 S4.5 skills: the text of the skill is in the system prompt', async () => {
    const files = { folder: 'examples/agents/skills', strict: true };
    const here = await started({ 'You write release notes.': [say('Added: nothing.')] }, { files });
    expect(await ask(here, 'release-writer')).toContain('Added: nothing.');
    expect(requests.map(promptOf).join('')).toContain('Group the others under Added, Changed and Fixed.');
  });

  it('S4.9 S4.6 nested delegation: each agent calls the next one, and the last one has no tools', async () => {
    const files = { folder: 'examples/agents/nested-delegation', strict: true };
    const here = await started(
      {
        'You answer questions.': [spawn('researcher'), say('The answer is 42.')],
        'You collect facts.': [spawn('fact-checker'), say('The fact is checked.')],
        'You check statements.': [say('true, because it was measured')],
      },
      { files },
    );
    expect(await ask(here, 'lead')).toContain('The answer is 42.');
    expect(JSON.stringify(requests)).toContain('true, because it was measured');
    const checked = requests.find((request) => promptOf(request).includes('You check statements.'));
    expect(checked?.tools ?? []).toEqual([]);
  });
});
