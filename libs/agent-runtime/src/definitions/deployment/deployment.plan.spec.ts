import { DefinitionExplorer } from './definition.explorer.js';
import {
  type CurrentNames,
  type DeployedDefinition,
  type ManagedSource,
  planOf,
  type RegisteredDefinition,
} from './deployment.plan.js';

const wanted = (name: string, source: DeployedDefinition['source'], hash = 'a'): DeployedDefinition => ({
  namespace: 'default',
  name,
  source,
  hash,
  content: { description: 'x', instructions: '', provider: 'native' },
});
const registered = (name: string, source: RegisteredDefinition['source'], hash = 'a'): RegisteredDefinition => ({
  namespace: 'default',
  name,
  revision: 1,
  source,
  hash,
  capabilities: null,
});
const ALL: ManagedSource[] = [
  { source: 'code', removes: true },
  { source: 'config', removes: true },
  { source: 'file', removes: true },
];
const current = (...all: RegisteredDefinition[]): CurrentNames => ({ registered: all, spawned: new Set() });
const names = (all: readonly { name: string }[]): string[] => all.map(({ name }) => name);

describe('the plan of a deployment', () => {
  it('S0.7 adds new definitions, replaces those that differ, and removes those that the source does not contain any more', () => {
    const now = current(registered('same', 'code'), registered('other', 'code', 'b'), registered('gone', 'code'));
    const plan = planOf([wanted('new', 'code'), wanted('same', 'code'), wanted('other', 'code')], now, ALL);
    expect([plan.added, plan.unchanged, plan.replaced, plan.removed].map(names)).toEqual([
      ['new'],
      ['same'],
      ['other'],
      ['gone'],
    ]);
  });

  it('S0.7 never changes a definition of REST', () => {
    const plan = planOf(
      [wanted('mine', 'config')],
      current(registered('mine', 'rest'), registered('free', 'rest')),
      ALL,
    );
    expect(plan).toMatchObject({ added: [], replaced: [], removed: [], taken: [{ by: 'rest' }] });
  });

  it('S0.7 a name in several sources belongs to the configuration, or else to the code, or else to a file', () => {
    const plan = planOf(
      [wanted('a', 'config'), wanted('a', 'file'), wanted('a', 'code'), wanted('b', 'file')],
      current(),
      ALL,
    );
    expect(plan.added.map(({ name, source }) => `${name} ${source}`).toSorted()).toEqual(['a config', 'b file']);
    expect(plan.taken.map(({ wanted: { source }, by }) => `${source} by ${by}`)).toEqual([
      'file by config',
      'code by config',
    ]);
  });

  it('S0.7 a definition that moves to another source of the deployment is replaced', () => {
    const plan = planOf([wanted('a', 'config')], current(registered('a', 'file')), ALL);
    expect(plan).toMatchObject({ replaced: [{ name: 'a', source: 'config' }], removed: [] });
  });

  it('S0.7 sources that are not managed are not changed, and a source that may not remove keeps its definitions', () => {
    const now = current(registered('a', 'config'), registered('b', 'file'));
    const plan = planOf([wanted('a', 'file')], now, [{ source: 'file', removes: false }]);
    expect(plan).toMatchObject({ taken: [{ by: 'config' }], removed: [], kept: [{ name: 'b' }] });
  });
});

describe('the name of a live agent that was not built from its definition', () => {
  it('S1.2 is not given to a new definition', () => {
    const spawned = new Set(['a', 'b']);
    const plan = planOf(
      [wanted('a', 'file'), wanted('b', 'file')],
      { registered: [registered('b', 'file')], spawned },
      ALL,
    );
    expect(plan).toMatchObject({
      added: [],
      taken: [{ wanted: { name: 'a' }, by: 'agent' }],
      unchanged: [{ name: 'b' }],
    });
  });
});

describe('DefinitionExplorer', () => {
  it('S4.1 ignores providers without a definition', () => {
    const discovery = { getProviders: () => [{ instance: {} }, { instance: null, metatype: null }, { instance: 'x' }] };
    expect(new DefinitionExplorer(discovery as never).explore()).toEqual([]);
  });
});
