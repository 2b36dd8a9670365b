import { DEFAULT_NAMESPACE } from '#rollcall/platform';
import { given } from '../../testing/given.js';
import { MAX_CAPABILITY_KEYS, withAncestors } from './capability.js';
import { Directory } from '../directory/directory.js';

const NOW = Date.parse('2026-02-24T10:30:00Z');
const AGENTS = 301;

/** 200 capabilities of 16 levels: 3,200 entries, more than a registration accepts. */
const DEEP = Array.from({ length: 200 }, (_, root) =>
  Array.from({ length: 16 }, (__, level) => `${root}x${level}`).join('.'),
);

function directoryOf(capabilities: string[]): Directory {
  const directory = new Directory();
  for (let agent = 0; agent < AGENTS; agent++)
    directory.upsert(given.entry({ agentId: `agent-${agent}`, capabilities }), NOW);
  return directory;
}

/** The number of index entries of all agents together. */
function entriesOf(directory: Directory, capabilities: string[]): number {
  const index = directory.indexOf(DEFAULT_NAMESPACE);
  const words = new Set(capabilities.flatMap(withAncestors));
  return [...words].reduce((sum, word) => sum + (index.find(word)?.members.size ?? 0), 0);
}

describe('the capability index', () => {
  it('A6 the index has at most 256 entries for each agent, even if its claims need more', () => {
    const directory = directoryOf(DEEP);
    expect(entriesOf(directory, DEEP)).toBe(AGENTS * MAX_CAPABILITY_KEYS);
  });

  it('A6 finds an agent with too many entries by each of its claims', () => {
    const index = directoryOf(DEEP).indexOf(DEFAULT_NAMESPACE);
    for (const capability of DEEP) expect(index.find(capability)?.members.size).toBe(AGENTS);
  });

  it('A6 removes all entries of an agent that leaves', () => {
    const directory = directoryOf(DEEP);
    for (let agent = 0; agent < AGENTS; agent++)
      directory.remove(`agent-${agent}`, { generation: 1, revision: 1 }, NOW);
    expect(entriesOf(directory, DEEP)).toBe(0);
  });

  it('A6 the index has all entries of an agent with as many claims as a registration accepts', () => {
    const accepted = DEEP.slice(0, MAX_CAPABILITY_KEYS / 16);
    expect(entriesOf(directoryOf(accepted), accepted)).toBe(AGENTS * MAX_CAPABILITY_KEYS);
  });
});
