import { given } from '../testing/given.js';
import { applyUpdate, type Declaration } from './agent.update.js';

const {
  budget: _budget,
  definition: _definition,
  ...facts
} = given.registration({ labels: { team: 'a', zone: 'eu' } });
const before: Declaration = facts;

describe('an update of a record', () => {
  it('changes what it names, and leaves the rest', () => {
    const { after, changed } = applyUpdate(before, { name: 'other', version: '2' });
    expect(after).toEqual({ ...before, name: 'other', version: '2' });
    expect(changed).toEqual(['name', 'version']);
  });

  it('finds no change in what is said again, whatever the order of its fields', () => {
    const { plan, type, adapter } = before.provider;
    const again = {
      provider: { plan, type, adapter },
      capabilities: ['build'],
      labels: { team: 'a' },
      endpoint: undefined,
    };
    expect(applyUpdate(before, again).changed).toEqual([]);
  });

  it('merges labels, and null takes one away', () => {
    const { after, changed } = applyUpdate(before, { labels: { zone: null, tier: 'gold', missing: null } });
    expect(after.labels).toEqual({ team: 'a', tier: 'gold' });
    expect(changed).toEqual(['labels']);
  });

  it('merges prices, of which null is none', () => {
    const { after } = applyUpdate(before, { costModel: { usdPer1kTokens: 0.003 } });
    expect(after.costModel).toEqual({ usdPerTask: 0, usdPer1kTokens: 0.003 });
    expect(applyUpdate(after, { costModel: { usdPerTask: null } }).after.costModel.usdPerTask).toBeNull();
  });

  it('may empty what can be empty', () => {
    expect(applyUpdate(before, { endpoint: null }).after.endpoint).toBeNull();
  });
});
