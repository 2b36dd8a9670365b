import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Agent, message, ProviderError } from '#rollcall/providers';
import type { ReactOptions } from '../agents/react.options.js';
import type { AgentSkill, Skill } from '../skills/skill.js';
import { answers, ends, FakeAgent } from '../testing/fake.agent.js';
import { INJECTIONS, MARK } from '../testing/hostile.corpus.js';
import { GRANTED, HostileWorld, LIMITS, SECRETS } from '../testing/hostile.world.js';
import { obedientModel } from '../testing/obedient.model.js';

const LABELS = ['untrusted_data', 'agent_output', 'agent_list', 'skill_content', 'skill_file'];

type Call = [name: string, input: unknown];

/** How a text of a third party reaches a model. */
interface Carrier {
  readonly name: string;
  /** The label around the text. */
  readonly label?: string;
  /** What the model calls first, to read the text. */
  readonly calls?: (world: HostileWorld) => Call[];
  readonly prepare?: (world: HostileWorld, text: string) => void;
  readonly options?: (text: string) => ReactOptions;
  readonly data?: (text: string) => unknown;
}

let root: string;
let world: HostileWorld;
let spawned: { name: string; depth: number }[];
beforeAll(async () => void (root = await mkdtemp(join(tmpdir(), 'hostile-'))));
afterAll(async () => await rm(root, { recursive: true }));
beforeEach(async () => {
  world = await HostileWorld.start();
  spawned = [];
});
afterEach(async () => await world.close());

const READ: Call[] = [['read', {}]];
const ASK: Call[] = [['delegate_to_agent', { agent: 'child', task: 'work' }]];

function child(make: (name: string) => Agent): (target: HostileWorld) => void {
  return ({ registry }) => void registry.register('child', 'A child.', () => make('child'));
}

function skill(more: Partial<Skill>, mode: AgentSkill['mode']): ReactOptions {
  const base = { name: 'guide', description: 'A guide.', body: 'A text.', tokens: 10, root, metadata: {} };
  return { skills: [{ skill: { ...base, ...more }, mode }] };
}

const CARRIERS: readonly Carrier[] = [
  { name: 'the output of a tool', calls: () => READ, prepare: (the, text) => void (the.onRead = () => text) },
  {
    name: 'JSON of a tool',
    calls: () => READ,
    prepare: (the, text) => void (the.onRead = () => ({ items: [{ [text]: text }] })),
  },
  {
    name: 'the error of a tool',
    calls: () => READ,
    prepare: (the, text) =>
      void (the.onRead = () => {
        throw new Error(text);
      }),
  },
  {
    name: 'a web page',
    label: 'untrusted_data',
    calls: ({ attacker }) => [['http_fetch', { url: attacker.url }]],
    prepare: (the, text) => void (the.page = text),
  },
  {
    name: 'a preloaded skill',
    label: 'skill_content',
    options: (text) => skill({ body: text, metadata: { 'allowed-tools': 'delete_all read_env pay' } }, 'preload'),
  },
  { name: 'the description of a skill', options: (text) => skill({ description: text }, 'catalog') },
  {
    name: 'a skill of the catalog',
    label: 'skill_content',
    calls: () => [['activate_skill', { name: 'guide' }]],
    options: (text) => skill({ body: text }, 'catalog'),
  },
  {
    name: 'the answer of a child',
    label: 'agent_output',
    calls: () => ASK,
    prepare: (the, text) => child((name) => new FakeAgent(name, () => answers(text)))(the),
  },
  {
    name: 'data of a child',
    label: 'agent_output',
    calls: () => ASK,
    prepare: (the, text) =>
      child((name) => new FakeAgent(name, () => ends({ parts: [{ type: 'data', data: { [text]: text } }] })))(the),
  },
  {
    name: 'the failure of a child',
    label: 'agent_output',
    calls: () => ASK,
    prepare: (the, text) =>
      child(
        (name) =>
          new FakeAgent(name, () => {
            throw new ProviderError('AGENT_FAILED', text);
          }),
      )(the),
  },
  {
    name: 'the limit of a child',
    label: 'agent_output',
    calls: () => ASK,
    prepare: (the, text) =>
      child((name) => new FakeAgent(name, () => ends({ outcome: 'stopped', reason: text, detail: text })))(the),
  },
  {
    name: 'the description of another agent',
    label: 'agent_list',
    calls: () => [['list_agents', {}]],
    prepare: ({ registry }, text) => void registry.register('child', text, () => new FakeAgent('child')),
  },
  { name: 'data of the caller', label: 'data', data: (text) => ({ text }) },
];

/** A helper that also obeys. It gets the tools that are granted to its parent. */
function registerHelper(): void {
  world.registry.register('helper', 'A helper.', (depth) => {
    spawned.push({ name: 'helper', depth });
    return world.agent('helper', obedientModel([['read', {}]]));
  });
}

async function attack({ prepare, options, calls, data }: Carrier, text: string): Promise<void> {
  prepare?.(world, text);
  registerHelper();
  const agent = world.agent('ada', obedientModel(calls?.(world)), options?.(text));
  await world.call(agent, data ? message('Hello', data(text)) : message('Hello'));
}

function textsOfModels(): string[] {
  return world.models.flatMap(({ calls }) =>
    calls.flatMap(({ request }) =>
      request.messages.flatMap((one) => {
        if (one.role === 'system') return [one.text];
        if (one.role === 'assistant') return [];
        return one.content.map((part) => ('text' in part ? part.text : 'output' in part ? part.output : ''));
      }),
    ),
  );
}

/** All spellings of the tag that a model could read, in order. */
function tagsIn(text: string, tag: string): string[] {
  const plain = text
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll('а', 'a')
    .toLowerCase();
  const spelled = tag.replaceAll('_', '[\\s_-]?');
  return [...plain.matchAll(new RegExp(`<[\\s/]*${spelled}`, 'g'))].map(([found]) =>
    found.includes('/') ? 'end' : 'begin',
  );
}

describe.each(CARRIERS)('an injected order in $name', (carrier) => {
  it.each(INJECTIONS)(
    'S4.4 S2.5 has no effect outside the grant, although the model obeys: $name',
    async ({ text }) => {
      await attack(carrier, text);
      const read = textsOfModels().filter((one) => one.includes(MARK));
      expect(read).not.toEqual([]);
      expect(world.executedTools.filter((name) => !GRANTED.includes(name))).toEqual([]);
      expect(world.executedTools).not.toContain('pay');
      expect(spawned.length).toBeLessThanOrEqual(LIMITS.maxDelegatedRuns);
      expect(Math.max(0, ...spawned.map(({ depth }) => depth))).toBeLessThanOrEqual(LIMITS.maxDelegationDepth);
      expect(leakedSecrets()).toEqual([]);
      expectClosedLabels(read, carrier.label);
    },
  );
});

function leakedSecrets(): string[] {
  const { outside } = world;
  return Object.values(SECRETS).filter((secret) => outside.includes(secret));
}

/** Expects that the text is inside one label, and neither ends this label nor begins another one. */
function expectClosedLabels(read: readonly string[], label: string | undefined): void {
  if (label === undefined) return;
  const labelled = read.filter((one) => tagsIn(one, label).length > 0);
  expect(labelled).not.toEqual([]);
  for (const one of labelled) {
    expect(tagsIn(one, label)).toEqual(['begin', 'end']);
    expect(one.indexOf(MARK)).toBeGreaterThan(one.indexOf(`<${label}`));
    expect(one.lastIndexOf(MARK)).toBeLessThan(one.lastIndexOf(`</${label}>`));
    for (const other of LABELS) expect(other === label ? [] : tagsIn(one, other)).toEqual([]);
  }
}

describe('the corpus', () => {
  it('S4.4 makes the model call tools outside its grant, so the other tests prove something', async () => {
    const all = INJECTIONS.map(({ text }) => text).join('\n');
    world.onRead = () => all;
    registerHelper();
    await world.call(world.agent('ada', obedientModel(READ), { maxIterations: 20 }));
    const tried = [
      'delete_all',
      'read_env',
      'pay',
      'spawn_agents',
      'spawn_subagent',
      'delegate_to_agent',
      'http_fetch',
    ];
    const called = world.models
      .flatMap(({ calls }) => calls)
      .flatMap(({ request }) =>
        request.messages.flatMap((one) =>
          one.role === 'assistant' ? one.content.flatMap((part) => (part.type === 'tool-call' ? [part.name] : [])) : [],
        ),
      );
    expect([...called, ...world.attempted]).toEqual(expect.arrayContaining(tried.filter((name) => name !== 'pay')));
    expect(world.executedTools).not.toContain('delete_all');
  });

  it('S4.4 makes the model execute the orders if there is no filter', async () => {
    world.onRead = () => INJECTIONS[0]?.text;
    await world.call(world.agent('ada', obedientModel(READ), { toolFilter: {} }));
    expect(world.executedTools).toContain('delete_all');
  });
});

describe('a file of a skill', () => {
  it('S2.7 is data of the skill, whatever it contains', async () => {
    const all = INJECTIONS.map(({ text }) => text.replaceAll('\0', '')).join('\n'); // a file with NUL is not text
    await writeFile(join(root, 'notes.md'), all);
    const calls: Call[] = [['activate_skill', { name: 'guide', file: 'notes.md' }]];
    await world.call(world.agent('ada', obedientModel(calls), skill({}, 'catalog')));
    const text = textsOfModels().find((one) => one.includes('<skill_file')) ?? '';
    expect(tagsIn(text, 'skill_file')).toEqual(['begin', 'end']);
    expect(world.executedTools).not.toContain('delete_all');
    expect(world.outside).not.toMatch(/root:x:|PATH=/);
  });
});
